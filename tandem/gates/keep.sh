# Keeps on this host how a container ended and the end of what it wrote, and removes older ones.
# Arguments: the container's name, its id, this host's name, and why it is kept.
# Says `kept STACK`, or `gone` where there is no such container of ours. Ends with 3 when Docker does
# not tell, with 4 when nothing can be written.
name=$1 id=$2 host=$3 reason=$4
most_lines=2000 most_bytes=1048576 newest=10
umask 077
LC_ALL=C
export LC_ALL

now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
stamp=$(printf %s "$now" | tr -d ':-')

field() { printf ',"%s":{{json %s}}' "$1" "$2"; }
format='{{index .Config.Labels "dev.tandem.stack"}} {"container":"'$name'"'
format=$format$(field id .Id)',"host":"'$host'"'$(field role '(index .Config.Labels "dev.tandem.role")')
format=$format',"reason":"'$reason'","kept":"'$now'"'$(field status .State.Status)
format=$format$(field startedAt .State.StartedAt)$(field finishedAt .State.FinishedAt)
format=$format$(field exitCode .State.ExitCode)$(field oomKilled .State.OOMKilled)
format=$format$(field restarts .RestartCount)$(field image .Config.Image)$(field error .State.Error)'}'

inspect() { timeout 10 docker inspect --type container --format "$format" "$id" </dev/null; }
found=$(inspect 2>/dev/null)
case $? in
0) ;;
124) echo "Docker has said nothing for 10 s" >&2; exit 3 ;;
*)
    problem=$(inspect 2>&1 >/dev/null)
    case $problem in
    *[Nn]o\ such\ *) echo gone; exit 0 ;;
    *) printf '%s\n' "$problem" >&2; exit 3 ;;
    esac
    ;;
esac
stack=${found%%' {'*}
# A name may be taken by a container of somebody else.
[ -n "$stack" ] || { echo gone; exit 0; }

folder=${XDG_STATE_HOME:-$HOME/.local/state}/tandem/$stack/$name
mkdir -p "$folder" && cd "$folder" || exit 4
{
    timeout 20 docker logs --timestamps --tail "$most_lines" "$id" </dev/null
    [ $? -ne 124 ] || echo "(docker logs said nothing more for 20 s)"
} 2>&1 | tail -c "$most_bytes" >"$stamp.log" || exit 4
# Written last and at once: where there is this file, the log beside it is whole.
printf '%s\n' "${found#"$stack "}" >".$stamp" && mv ".$stamp" "$stamp.json" || exit 4
for file in *; do printf '%s\n' "${file%%.*}"; done | sort -ru | tail -n +$((newest + 1)) |
    while read -r old; do rm -f "$old.json" "$old.log"; done
echo "kept $stack"
