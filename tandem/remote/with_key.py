"""Become a command with the API's key in its environment.

Runs inside the server's container: ``python3 with_key.py FILE command…``. A variable of the
container would show the key in `docker inspect`, a flag of vLLM in the process list and in the
log. Standard library only.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(words: list[str]) -> None:
    """Set VLLM_API_KEY (vllm/envs.py) to what the file holds, then become the command."""
    file, *command = words
    os.environ["VLLM_API_KEY"] = Path(file).read_text(encoding="utf-8")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
