"""The flags of ``vllm serve`` that only the API reads: a host without the API is given none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tandem.planner.vllm.words import SHORT

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMES = """
allow-credentials allowed-headers allowed-methods allowed-origins anthropic-disabled-thinking-effort
api-key api-server-count chat-template chat-template-content-format cohere-format
cohere-is-reasoning-model data-parallel-supervisor-port default-chat-template-kwargs
disable-access-log-for-endpoints disable-fastapi-docs disable-uvicorn-access-log
dp-supervisor-probe-failure-threshold dp-supervisor-probe-interval-s dp-supervisor-probe-timeout-s
enable-auto-tool-choice enable-flash-late-interaction enable-force-include-usage enable-log-deltas
enable-log-outputs enable-offline-docs enable-per-request-metrics enable-prompt-tokens-details
enable-request-id-headers enable-scale-out enable-server-load-tracking enable-ssl-refresh
enable-tokenizer-info-endpoint exclude-tools-when-tool-choice-none fingerprint-mode
fingerprint-value grpc grpc-port host log-config-file log-error-stack lora-modules max-log-len
middleware port response-role return-tokens-as-token-ids root-path sse-keep-alive-interval
ssl-ca-certs ssl-cert-reqs ssl-certfile ssl-ciphers ssl-keyfile tokens-only tool-call-parser
tool-parser-plugin tool-server tool-strict-level trust-request-chat-template trust-request-mm-kwargs
uds uvicorn-log-level
"""

FRONT_END = frozenset(f"--{name}" for name in _NAMES.split())
"""Source: the classes BaseFrontendArgs and FrontendArgs and what stands beside them in
vllm/entrypoints/launchers/cli_args.py, 0.32.0. ``run_headless`` (vllm/entrypoints/cli/serve.py)
reads none of them, and refuses ``--api-server-count``."""

_FLAG = re.compile(r"(--?[A-Za-z][^=.\s]*)")


def without_front_end(words: Iterable[str]) -> tuple[str, ...]:
    """Return the words without the flags of the API, and without their values."""
    kept: list[str] = []
    keeps = True
    for word in words:
        flag = _FLAG.match(word)
        if flag is not None:
            keeps = _positive(flag[1]) not in FRONT_END
        if keeps:
            kept.append(word)
    return tuple(kept)


def _positive(flag: str) -> str:
    """Return a flag's long name with dashes, without ``no-`` in front."""
    name = SHORT.get(flag, flag).replace("_", "-")
    return f"--{name.removeprefix('--no-')}" if name.startswith("--no-") else name
