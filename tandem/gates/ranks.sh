# Prints what shows that a container's ranks have joined their group, one section a question. Changes
# nothing. Arguments: the container.
section() { printf '\n@@%s\n' "$1"; }

look() {
    section container
    timeout 10 docker inspect --format \
        '{"words": {{json .Config.Cmd}}, "image": {{json .Image}}}' "$1" 2>/dev/null
    section lines
    # What an earlier start wrote is of another group.
    since=$(timeout 10 docker inspect --format '{{.State.StartedAt}}' "$1" 2>/dev/null)
    [ -z "$since" ] || timeout 20 docker logs --since "$since" "$1" 2>&1 |
        grep -a 'distributed_init_method=' | head -n 1000
    section connections
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

look "$1" </dev/null
section ended
