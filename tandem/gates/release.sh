# Prints what a deployment may leave behind on a host, one fact a line. Changes nothing.
# Argument: the stack's name. Memory in kB, of GPUs in MiB. Ends with 3 when Docker does not tell.
stack=$1
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin LC_ALL=C
export PATH LC_ALL

sed -n 's/^\(MemTotal\|MemAvailable\|AnonPages\): *\([0-9]*\) kB$/\1 \2/p' /proc/meminfo
cat /proc/[0-9]*/status 2>/dev/null |
    awk '/^RssShmem:/ { sum += $2 } END { printf "RssShmem %d\n", sum }'

containers=$(timeout 20 docker ps --all --no-trunc \
    --format '{{.ID}} {{.Names}} {{.Label "dev.tandem.stack"}}' </dev/null)
case $? in
0) ;;
124) echo "Docker has said nothing for 20 s" >&2; exit 3 ;;
*) exit 3 ;;
esac
printf '%s\n' "$containers" | awk -v stack="$stack" '$3 == stack { print "container", $2 }'

# What stays of a container that Docker has forgotten is still in its cgroup. The ids are known from
# the logs that were kept; any other unknown id may belong to another Docker of this host.
ids='s/.*"container":"\([^"]*\)","id":"\([0-9a-f]*\)".*/\2 \1/p'
cat "${XDG_STATE_HOME:-$HOME/.local/state}/tandem/$stack"/*/*.json 2>/dev/null | sed -n "$ids" | sort -u |
    while read -r id container; do
        case $containers in *"$id"*) continue ;; esac
        for file in $(grep -ls "$id" /proc/[0-9]*/cgroup); do
            folder=${file%/cgroup}
            state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "$folder/status" 2>/dev/null)
            # A zombie holds nothing but its number.
            case $state in '' | Z | X) continue ;; esac
            printf 'process %s %s %s %s\n' "${folder#/proc/}" "$state" "$container" "$(cat "$folder/comm")"
        done
    done

if command -v nvidia-smi >/dev/null 2>&1; then
    ask() { timeout 20 nvidia-smi --format=csv,noheader,nounits "$1" 2>/dev/null </dev/null; }
    ask --query-gpu=memory.used | sed 's/^/gpu /'
    ask --query-compute-apps=pid,used_memory | sed 's/^/gpu-process /; s/, / /'
fi
exit 0
