"""vLLM's API over a real connection, as far as a test says what it answers."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODELS = {"data": [{"id": "model"}, {"id": "other"}]}


@contextmanager
def served(
    answers: dict[str, tuple[int, Any]], key: str = "", asked: list[Any] | None = None
) -> Iterator[str]:
    """Serve JSON by path on 127.0.0.1, to those who send the key if there is one; give the URL.

    ``asked`` takes the JSON that is sent, with its type.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answers.get(self.path, (404, {}))
            if key and self.headers.get("Authorization") != f"Bearer {key}":
                status, body = 401, {"error": "Unauthorized"}
            sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if sent and asked is not None:
                asked.append((self.headers.get("Content-Type"), json.loads(sent)))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def chat(message: dict[str, Any]) -> dict[str, tuple[int, Any]]:
    """Return what a server answers that has a model and completes a chat with a message."""
    return {
        "/v1/models": (200, MODELS),
        "/v1/chat/completions": (200, {"choices": [{"message": message}]}),
    }
