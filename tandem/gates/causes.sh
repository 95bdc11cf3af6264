# Prints, of a container, its address in the cluster and the end of its log, between two readings of
# this host's clock. Changes nothing.
# Argument: the container's name.
name=$1
most_lines=10000 most_bytes=2097152 longest_line=2000
tab=$(printf '\t')
LC_ALL=C
export LC_ALL

clock() { printf 'clock\t%s\n' "$(date +%s.%N)"; }

clock
# Its other variables may be secrets: they stay here.
timeout 10 docker inspect --format '{{json .Config.Env}}' "$name" </dev/null 2>/dev/null |
    sed -n "s/.*\"VLLM_HOST_IP=\([^\"]*\)\".*/address$tab\1/p"
timeout 20 docker logs --timestamps --tail "$most_lines" "$name" </dev/null 2>&1 |
    cut -b "1-$longest_line" | tail -c "$most_bytes"
echo
clock
