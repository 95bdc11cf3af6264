# Prints the logs of a stack's containers on a host, each line with its container, as they are now
# or as they were kept when the containers went. Changes nothing.
# Arguments: now or kept, the stack's name, how many lines of each container (a number or all), and
# from when on (as `docker logs --since` takes it, or nothing).
what=$1 stack=$2 lines=$3 since=$4
cr=$(printf '\r') tab=$(printf '\t')

# Of a line that a progress bar was drawn over, what it shows last; the time in front stays.
last_state() { sed "s/$cr*\$//; s/^\([0-9TZ:.-]* \).*$cr/\1/; s/^/$1$tab/"; }

now() {
    own=$(timeout 10 docker ps --all --filter "label=dev.tandem.stack=$stack" \
        --format '{{.Names}} {{.Label "dev.tandem.role"}}') || exit
    printf '%s\n' "$own" | while read -r name role; do
        [ -z "$name" ] || timeout 15 docker logs --timestamps --tail "$lines" \
            ${since:+--since "$since"} "$name" 2>&1 | last_state "log$tab$name$tab$role"
    done
}

kept() {
    cd "${XDG_STATE_HOME:-$HOME/.local/state}/tandem/$stack" 2>/dev/null || return 0
    for name in *; do
        # The names are times, so the last one is the newest.
        newest=$(ls "$name"/*.json 2>/dev/null | tail -n 1)
        [ -n "$newest" ] || continue
        printf 'kept\t%s\t\t%s\n' "$name" "$(tr '\n' ' ' <"$newest")"
        log=${newest%.json}.log
        if [ "$lines" = all ]; then cat "$log"; else tail -n "$lines" "$log"; fi |
            last_state "log$tab$name$tab"
    done
}

printf 'now\t%s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
# The script itself comes on the standard input.
"$what" </dev/null
