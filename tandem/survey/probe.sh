# Looks at a host and prints what it sees, one section a question. Changes nothing.
# Arguments: the stack's name, the model's folder.
section() { printf '\n@@%s\n' "$1"; }
section docker; docker version --format '{{.Server.Version}}' 2>&1
section addresses; ip -o -4 addr show 2>/dev/null
section sockets; cat /proc/net/tcp /proc/net/tcp6 2>/dev/null
section own-ports; docker ps --filter "label=dev.tandem.stack=$1" --format '{{.Label "dev.tandem.ports"}}' 2>/dev/null
section model; if [ -f "$2/config.json" ]; then echo yes; fi
