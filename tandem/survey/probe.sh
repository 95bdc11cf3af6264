# Looks at a host and prints what it sees, one section a question. Changes nothing.
# Arguments: Docker's folder (may be empty), the model's folder or volume, the backend's port, the
# other hosts' addresses.
# POSIX sh with Linux's usual tools; where one is missing, its section stays empty.
docker=$1 model=$2 port=$3
shift 3
# Without a login shell, Debian's users have no sbin on their PATH.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin LC_ALL=C
export PATH LC_ALL
tab=$(printf '\t')

section() { printf '\n@@%s\n' "$1"; }

disk() {
    printf '%s\t' "$1"
    timeout 5 df -Pk "$2" 2>/dev/null | tail -n 1
    echo
}

# A connection that is refused has been there and back as well as one that is taken, so nothing has
# to listen. Unlike ping this needs no right and no package, and it meets the firewall's TCP rules.
# What never comes back leaves the line that says 124; BusyBox's timeout ends bash alone.
connect() {
    timeout 2 bash -c '
        trap "kill \$(jobs -p)" TERM
        port=$1
        shift
        [ $# = 0 ] || printf "%s 124 \n" "$@"
        for peer; do
            (
                said=$({ : </dev/tcp/"$peer"/"$port"; } 2>&1)
                echo "$peer $? ${said##*: }"
            ) &
        done
        wait' connect "$port" "$@" 2>/dev/null
}

gpus() {
    timeout 10 nvidia-smi --format=csv,noheader,nounits --query-gpu="$1" 2>&1
}

all_gpus() {
    section gpus
    fields=index,uuid,name,driver_version,memory.total,memory.used,memory.free
    # Old drivers do not know the last two and refuse the whole question.
    gpus $fields,memory.reserved,compute_cap || gpus $fields
    section gpu-processes
    processes=$(timeout 10 nvidia-smi --format=csv,noheader,nounits \
        --query-compute-apps=pid,gpu_uuid,used_memory,process_name 2>/dev/null | grep '^[0-9]')
    printf '%s\n' "$processes"
    section gpu-cgroups
    for pid in $(printf '%s\n' "$processes" | cut -d , -f 1 | sort -u); do
        printf '%s %s\n' "$pid" "$(tr '\n' ' ' <"/proc/$pid/cgroup" 2>/dev/null)"
    done
}

look() {
    section system
    uname -srm
    sed -n 's/^PRETTY_NAME=//p' /etc/os-release 2>/dev/null

    section memory
    grep -E '^Mem(Total|Available):' /proc/meminfo

    section cdi
    grep -ls 'nvidia.com/gpu' /etc/cdi/* /var/run/cdi/*
    section hook
    command -v nvidia-container-runtime-hook

    section volume
    case $model in
    /*) ;;
    *)
        model=$(timeout 10 docker volume inspect --format '{{.Mountpoint}}' "$model" 2>/dev/null)
        # Docker's folder is closed to all but root.
        if [ -z "$model" ]; then echo absent; else timeout 5 du -sk "$model" 2>/dev/null; fi
        model=${model:-/dev/null/absent}
        ;;
    esac

    section disks
    disk docker "$docker"
    disk model "$model"

    ! command -v nvidia-smi >/dev/null || all_gpus

    section links
    ip -o link show 2>/dev/null
    section addresses
    ip -o -4 addr show 2>/dev/null
    section speeds
    for file in /sys/class/net/*/speed; do
        name=${file%/speed}
        read -r speed <"$file" && echo "${name##*/} $speed"
    done 2>/dev/null
    section routes
    for peer; do echo "route get $peer"; done | ip -o -4 -force -batch - 2>/dev/null
    section paths
    connect "$@"

    section rdma
    [ ! -d /dev/infiniband ] || echo devices
    for folder in /sys/class/infiniband/*/ports/*; do
        [ -d "$folder" ] || continue
        device=${folder%/ports/*}
        printf "port$tab%s$tab%s$tab%s$tab%s$tab%s\n" "${device##*/}" "${folder##*/}" \
            "$(cat "$folder/state")" "$(cat "$folder/rate")" "$(cat "$folder/link_layer")"
        for file in "$folder"/gids/*; do
            read -r gid <"$file" || continue
            case $gid in 0000:0000:0000:0000:0000:ffff:*) ;; *) continue ;; esac
            index=${file##*/}
            printf "gid$tab%s$tab%s$tab%s$tab%s\n" "$index" "$gid" \
                "$(cat "$folder/gid_attrs/ndevs/$index")" "$(cat "$folder/gid_attrs/types/$index")"
        done
    done 2>/dev/null

    section sockets
    grep -h ' 0A ' /proc/net/tcp /proc/net/tcp6 2>/dev/null
    section programs
    timeout 5 ss -ltnp 2>/dev/null

    section weights
    for file in "$model"/*.safetensors; do
        [ -f "$file" ] || continue
        # A safetensors file starts with the length of its header, 8 bytes with the lowest first.
        header=$(od -An -tu8 -N8 "$file")
        printf "%s$tab%s$tab%s\n" "$(stat -Lc %s "$file")" "${header##* }" "${file##*/}"
    done 2>/dev/null
    section index
    grep -o '"[^"]*\.safetensors"' "$model/model.safetensors.index.json" 2>/dev/null | sort -u
    section config
    [ ! -f "$model/config.json" ] || echo yes
    head -c 1048576 "$model/config.json" 2>/dev/null | sed 's/^@@/ @@/'
}

section started
date +%s.%N
# The script itself comes on the standard input.
look "$@" </dev/null
section ended
date +%s.%N
