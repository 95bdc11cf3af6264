"""The deployment that faults are staged on: its names and where its containers are."""

STACK = "faulty"
HEAD = f"tandem-{STACK}-lab-1-ray-head"
WORKER = f"tandem-{STACK}-lab-2-ray-worker"
SERVER = f"tandem-{STACK}-lab-1-server"
NAMES = {"head": HEAD, "worker": WORKER, "server": SERVER}
HOME = {"head": "lab-1", "worker": "lab-2", "server": "lab-1"}
"""Which host a container is on."""
PLACES = {"lab-1": {HEAD, SERVER}, "lab-2": {WORKER}}
BYSTANDER = "bystander"
HELD = "held"
"""A container that keeps a command where a fault is to meet it."""
