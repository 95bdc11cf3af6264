"""The join contract: exactly the declared Ray nodes are alive, each with its GPUs.

Runs inside a container, in two ways, and waits until the contract holds in both. With ``--report``
it then prints the nodes that are alive, for the join gate. With ``-- command`` it becomes the
command: this is how the server's container starts, also after a reboot, when no Pulumi is there to
order it.
Standard library and Ray only.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from typing import Any

POLL_SECONDS = 0.5
CONNECT_SECONDS = 2

Nodes = dict[str, list[int | None]]
"""By address the GPUs of every node that the Ray head calls alive.

An address has one number per node: two where somebody started a second Ray there, or where the
head has not noticed yet that the first one ended. None is a node that does not take a connection:
the head counts one that was killed for some ten seconds more.
"""


def alive_nodes(address: str) -> Nodes:
    """Return the nodes that the Ray head calls alive.

    The connection stays for the next call: making one takes seconds. Raises whatever Ray raises
    when its head does not answer.
    """
    import ray  # only where the program runs inside the image

    try:
        if not ray.is_initialized():
            ray.init(address=address, log_to_driver=False, logging_level="error")
        nodes = [node for node in ray.nodes() if node["Alive"]]
    except BaseException:
        ray.shutdown()
        raise
    gpus: Nodes = {}
    with ThreadPoolExecutor() as pool:
        for node, is_there in zip(nodes, pool.map(_takes_connections, nodes), strict=True):
            count = int(node["Resources"].get("GPU", 0)) if is_there else None
            gpus.setdefault(node["NodeManagerAddress"], []).append(count)
    return gpus


def _takes_connections(node: dict[str, Any]) -> bool:
    place = (node["NodeManagerAddress"], node["NodeManagerPort"])
    try:
        socket.create_connection(place, CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def differences(declared: dict[str, int], alive: Nodes) -> list[str]:
    """Return in words what keeps the contract from holding; GPUs by address on both sides."""
    words = []
    for address, gpus in declared.items():
        nodes = alive.get(address, [])
        if not nodes:
            words.append(f"{address} has not joined")
        elif len(nodes) > 1:
            words.append(f"{address} has joined as {len(nodes)} nodes, not as one")
        elif nodes == [None]:
            words.append(f"{address} does not answer, though Ray counts it")
        elif nodes != [gpus]:
            words.append(f"{address} offers {nodes[0]} GPUs, not {gpus}")
    words += [f"{address} joined undeclared" for address in alive if address not in declared]
    return words


def versions() -> dict[str, str]:
    """Return the versions that have to be the same in every container."""
    found = {"python": sys.version.split()[0]}
    for name in ("ray", "vllm"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "missing"
    return found


def wait(address: str, declared: dict[str, int], timeout: float) -> Nodes | None:
    """Return the alive nodes once the contract holds, or those after ``timeout`` seconds.

    None when the head did not answer to the last question.
    """
    deadline = time.monotonic() + timeout
    said = None
    while True:
        alive = None
        try:
            alive = alive_nodes(address)
            missing = differences(declared, alive)
        except Exception as problem:  # Ray raises many kinds while its head is not there
            words = str(problem).splitlines() or [type(problem).__name__]
            missing = [f"no Ray head at {address}: {words[0]}"]
        if not missing or time.monotonic() >= deadline:
            return alive
        if missing != said:
            print(f"waiting: {'; '.join(missing)}", file=sys.stderr, flush=True)
            said = missing
        time.sleep(POLL_SECONDS)


def main(arguments: list[str]) -> int:
    """Run one of the two ways; return the exit status."""
    parser = argparse.ArgumentParser(prog="ray_contract")
    parser.add_argument("--address", default="")
    parser.add_argument("--node", action="append", default=[], metavar="ADDRESS=GPUS")
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--versions", action="store_true")
    parser.add_argument("command", nargs="*")
    options = parser.parse_args(arguments)
    if options.versions:
        print(json.dumps(versions()))
        return 0
    declared = {pair.partition("=")[0]: int(pair.partition("=")[2]) for pair in options.node}
    if options.report:
        print(json.dumps(wait(options.address, declared, options.timeout)))
        return 0
    # Ray leaves threads and variables behind: the command starts from a process without them.
    child = os.fork()
    if child == 0:
        alive = wait(options.address, declared, options.timeout)
        os._exit(0 if alive is not None and not differences(declared, alive) else 1)
    if os.waitpid(child, 0)[1] != 0:
        print("the declared Ray nodes did not join in time", file=sys.stderr)
        return 1
    os.execvp(options.command[0], options.command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
