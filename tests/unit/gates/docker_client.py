"""Runs as `docker`: asks the test what to answer, and prints it or becomes the program to run.

``docker_client.py PORT WORDS...``, with the host in SSH_HOST.
"""

import json
import os
import socket
import sys
from pathlib import Path


def main(port: str, *words: str) -> None:
    """Do as the test says."""
    parent = Path(f"/proc/{os.getppid()}/cmdline").read_text().split("\0")
    asked = {
        "host": os.environ["SSH_HOST"],
        "limit": parent[1] if Path(parent[0]).name == "timeout" else None,
        "words": words,
        "pid": os.getpid(),
    }
    with socket.create_connection(("127.0.0.1", int(port))) as link:
        link.sendall(json.dumps(asked).encode() + b"\n")
        answer = json.load(link.makefile())
    sys.stdout.write(answer["out"])
    sys.stderr.write(answer["err"])
    sys.stdout.flush()
    if not answer["run"]:
        sys.exit(answer["status"])
    if not answer["has_input"]:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.execve(answer["run"][0], answer["run"], answer["env"])


if __name__ == "__main__":
    main(*sys.argv[1:])
