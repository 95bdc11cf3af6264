"""Ask a vLLM server for its models, and then for one chat completion.

Runs inside the server's container: ``python3 - URL SERVED_NAME [SECONDS [KEY_FILE]]``. For so many
seconds it waits for a server that is silent; the file holds the API's key. Prints one JSON object
with ``state`` (``silent``, ``other-model``, ``failed``, ``answered``) and what was seen.
Standard library only.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ANSWER_SECONDS = 600
"""The first completion may compile kernels."""

POLL_SECONDS = 0.5


def ask(url: str, served_name: str, patience: float = 0, key: str = "") -> dict[str, Any]:
    """Return what the server at ``url`` answers, or that it was silent for ``patience`` seconds."""
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    deadline = time.monotonic() + patience
    while True:
        try:
            models = _get(f"{url}/v1/models", headers)
            break
        except (OSError, ValueError) as problem:
            if time.monotonic() >= deadline:
                return {"state": "silent", "detail": str(problem)}
        time.sleep(POLL_SECONDS)
    names = [model["id"] for model in models["data"]]
    if served_name not in names:
        return {"state": "other-model", "detail": ", ".join(names)}
    question = {
        "model": served_name,
        "messages": [{"role": "user", "content": "Say hello."}],
        "max_tokens": 64,
        "temperature": 0,
    }
    try:
        answer = _get(f"{url}/v1/chat/completions", headers, question)
    except urllib.error.HTTPError as refusal:
        return {"state": "failed", "detail": refusal.read().decode(errors="replace")}
    except (OSError, ValueError) as problem:
        return {"state": "failed", "detail": str(problem)}
    message = answer["choices"][0]["message"]
    # vLLM renamed reasoning_content to reasoning; older images know the old name alone.
    reasoning = message.get("reasoning") or message.get("reasoning_content") or ""
    content = message.get("content") or ""
    return {"state": "answered", "content": content, "reasoning": reasoning}


def _get(url: str, headers: dict[str, str], body: dict[str, Any] | None = None) -> dict[str, Any]:
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(url, data, headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=ANSWER_SECONDS if body else 10) as answer:
        result: dict[str, Any] = json.load(answer)
    return result


def main(url: str, served_name: str, seconds: str = "0", key_file: str = "") -> None:
    """Ask and print the answer."""
    key = Path(key_file).read_text(encoding="utf-8") if key_file else ""
    print(json.dumps(ask(url, served_name, float(seconds), key)))


if __name__ == "__main__":
    main(*sys.argv[1:])
