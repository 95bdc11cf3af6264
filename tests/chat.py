"""One chat completion over HTTP, as a client asks for it."""

import json
import urllib.request
from typing import Any


def chat(
    endpoint: str, key: str = "", *, prompt: str = "Hello", seconds: float = 60
) -> dict[str, Any]:
    """Ask for one completion, with the API's key if it has one, and return the message.

    Waits so many seconds at most.

    Raises urllib.error.HTTPError when the API refuses.
    """
    messages = [{"role": "user", "content": prompt}]
    question = {"model": "tiny-qwen3", "messages": messages}
    body = json.dumps(question | {"max_tokens": 8}).encode()
    headers = {"Content-Type": "application/json"} | (
        {"Authorization": f"Bearer {key}"} if key else {}
    )
    request = urllib.request.Request(f"{endpoint}/chat/completions", body, headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=seconds) as answer:
        message: dict[str, Any] = json.load(answer)["choices"][0]["message"]
    return message
