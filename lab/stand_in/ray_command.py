"""The stand-in's ``ray start --block``: a head, or a node that lives as long as its head."""

from __future__ import annotations

import argparse
import sys
import time

from lab.stand_in.session import Head, Node, SessionLost, attend, listen

JOIN_SECONDS = 10.0
"""How long a node looks for its head."""
END_SECONDS = 2.0
"""How long a node takes to notice that it has no head any more."""


def main(words: list[str]) -> int:
    """Run until the session is lost, which is exit status 1."""
    options = command_line().parse_args(words)
    address: str = options.node_ip_address
    node = Node(address, options.num_gpus, listen(address))
    if options.head:
        print(f"stand-in of Ray: head at {node.address}:{options.port}", flush=True)
        Head((node.address, options.port), node).serve_forever()
        return 0
    try:
        _join(options.address, node)
    except SessionLost as problem:
        print(f"stand-in of Ray: {problem}", file=sys.stderr, flush=True)
        time.sleep(END_SECONDS)
    return 1


def _join(address: str, node: Node) -> None:
    """Be a node of the head at ``address``. Raises SessionLost when it is there no more."""
    deadline = time.monotonic() + JOIN_SECONDS
    joined = False

    def note(_: list[Node]) -> bool:
        nonlocal joined
        if not joined:
            print(f"stand-in of Ray: {node.address} joined {address}", flush=True)
        joined = True
        return True

    while True:
        try:
            attend(address, node, note)
        except SessionLost:
            if joined or time.monotonic() > deadline:
                raise
        time.sleep(0.5)


def command_line() -> argparse.ArgumentParser:
    """Return the parser of ``ray start``: what Tandem sets."""
    parser = argparse.ArgumentParser(prog="ray")
    start = parser.add_subparsers(required=True).add_parser("start")
    role = start.add_mutually_exclusive_group(required=True)
    role.add_argument("--head", action="store_true")
    role.add_argument("--address")
    start.add_argument("--block", action="store_true", required=True)
    start.add_argument("--port", type=int, default=6379)
    start.add_argument("--node-ip-address", required=True)
    start.add_argument("--num-gpus", type=int, required=True)
    start.add_argument("--include-dashboard")
    start.add_argument("--disable-usage-stats", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
