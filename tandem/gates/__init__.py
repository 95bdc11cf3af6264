"""Gates: programs that end only when something is true of the hosts, or say why it can't be.

Each runs on the operator's machine as ``python3 -m tandem.gates.NAME`` with its spec as JSON on
standard input. Standard library only.
"""
