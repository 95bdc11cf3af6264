# Looks at a stack's containers on a host and prints what it sees, one section a question. Changes
# nothing. Arguments: the stack's name and, where the server is: its container, then the words to
# run in there.
# POSIX sh with Linux's usual tools; where one is missing, its section stays empty.
stack=$1
shift
tab=$(printf '\t') cr=$(printf '\r')

section() { printf '\n@@%s\n' "$1"; }

# What `docker stats` shows, without its two seconds: use less the file cache that is not in use
# (docker/cli, cli/command/container/stats_helpers.go).
memory() {
    path=$(sed -n 's/^[0-9]*:memory://p' "/proc/$1/cgroup" 2>/dev/null)
    if [ -n "$path" ]; then
        folder=/sys/fs/cgroup/memory$path used=memory.usage_in_bytes cache=total_inactive_file
    else
        folder=/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$1/cgroup" 2>/dev/null)
        used=memory.current cache=inactive_file
    fi
    printf '%s %s' "$(cat "$folder/$used" 2>/dev/null)" \
        "$(sed -n "s/^$cache //p" "$folder/memory.stat" 2>/dev/null)"
}

look() {
    section now
    date +%s
    section memory
    grep -E '^Mem(Total|Available):' /proc/meminfo

    if ! own=$(timeout 4 docker ps --all --quiet --no-trunc \
        --filter "label=dev.tandem.stack=$stack" 2>/dev/null); then
        section problem
        said=$(timeout 4 docker version 2>&1 >/dev/null | tail -n 1)
        printf '%s\n' "${said:-Docker does not answer}"
        return
    fi
    health='{{if .State.Health}}{{json .State.Health.Status}}{{else}}null{{end}}'
    role='{{json (index .Config.Labels "dev.tandem.role")}}'
    format="{{.ID}}$tab{{.State.Pid}}$tab{{.State.Status}}$tab{\"name\": {{json .Name}},
        \"role\": $role, \"state\": {{json .State.Status}}, \"health\": $health,
        \"exit_code\": {{json .State.ExitCode}}, \"oom_killed\": {{json .State.OOMKilled}},
        \"error\": {{json .State.Error}}, \"started\": {{json .State.StartedAt}},
        \"finished\": {{json .State.FinishedAt}}, \"restarts\": {{json .RestartCount}},
        \"image\": {{json .Image}}}"
    # shellcheck disable=SC2086 # one word each
    found=$([ -z "$own" ] || timeout 4 docker inspect --format "$(printf %s "$format" | tr '\n' ' ')" \
        $own 2>/dev/null)
    section containers
    printf '%s\n' "$found" | while IFS=$tab read -r id pid state facts; do
        [ -n "$id" ] || continue
        case $state in
        running | paused)
            printf '%s\t%s\t\t%s\n' "$id" "$(memory "$pid")" "$facts"
            ;;
        *)
            # Of a progress bar, only what it shows last.
            line=$(timeout 2 docker logs --tail 1 "$id" 2>&1 | tail -n 1 | tr '\t' ' ' |
                sed "s/$cr*\$//; s/.*$cr//" | cut -c 1-500)
            printf '%s\t\t%s\t%s\n' "$id" "$line" "$facts"
            ;;
        esac
    done

    section server
    [ $# -eq 0 ] || timeout 9 docker exec "$@" 2>&1 || [ $? -ne 124 ] || echo 'no answer within 9 s'
}

# The script itself comes on the standard input.
look "$@" </dev/null
section ended
