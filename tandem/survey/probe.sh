# Looks at a host and prints what it sees, one section a question. Changes nothing.
# Arguments: the stack's name, the model's folder or volume, the image's repository, Ray's port, the
# other hosts' addresses.
# POSIX sh with Linux's usual tools; where one is missing, its section stays empty.
stack=$1 model=$2 repository=$3 port=$4
shift 4
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
connect() {
    said=$(timeout 2 bash -c ': </dev/tcp/"$0"/"$1"' "$1" "$port" 2>&1)
    printf '%s %s %s\n' "$1" "$?" "$(printf %s "$said" | tail -n 1)"
}

gpus() {
    timeout 10 nvidia-smi --format=csv,noheader,nounits --query-gpu="$1" 2>&1
}

look() {
    section system
    uname -srm
    sed -n 's/^PRETTY_NAME=//p' /etc/os-release 2>/dev/null

    section memory
    grep -E '^Mem(Total|Available):' /proc/meminfo

    section docker
    timeout 10 docker version --format '{{.Server.Version}} {{.Server.APIVersion}}' 2>&1

    section docker-info
    info=$(timeout 10 docker info --format '{{json .}}' 2>/dev/null)
    printf '%s\n' "$info"

    section cdi
    grep -ls 'nvidia.com/gpu' /etc/cdi/* /var/run/cdi/*
    section hook
    command -v nvidia-container-runtime-hook

    section containers
    labels='{{.Label "dev.tandem.stack"}}\t{{.Label "dev.tandem.role"}}\t{{.Label "dev.tandem.ports"}}'
    timeout 10 docker ps --all --no-trunc --format "{{.ID}}\t{{.Names}}\t$labels\t{{.Ports}}" 2>/dev/null
    section own-containers
    own=$(timeout 10 docker ps --all --quiet --no-trunc --filter "label=dev.tandem.stack=$stack" 2>/dev/null)
    since='{{if .State.Running}}{{.State.StartedAt}}{{else}}{{.State.FinishedAt}}{{end}}'
    # shellcheck disable=SC2086 # one word each
    [ -z "$own" ] || timeout 10 docker inspect --format \
        "{{.Id}}$tab{{.State.Status}}$tab{{.RestartCount}}$tab{{.Image}}$tab$since" $own 2>/dev/null

    section images
    images=$(timeout 10 docker image ls --quiet --no-trunc "$repository" 2>/dev/null | sort -u)
    names='{{range .RepoTags}}{{.}} {{end}}{{range .RepoDigests}}{{.}} {{end}}'
    # shellcheck disable=SC2086 # one word each
    [ -z "$images" ] || timeout 10 docker image inspect --format \
        "{{.Id}}$tab{{.Architecture}}$tab{{.Size}}$tab$names" $images 2>/dev/null

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
    disk docker "$(printf %s "$info" | sed -n 's/.*"DockerRootDir":"\([^"]*\)".*/\1/p')"
    disk model "$model"

    section gpus
    if command -v nvidia-smi >/dev/null; then
        fields=index,uuid,name,driver_version,memory.total,memory.used,memory.free
        # Old drivers do not know the last two and refuse the whole question.
        gpus $fields,memory.reserved,compute_cap || gpus $fields
    fi
    section gpu-processes
    processes=$(timeout 10 nvidia-smi --format=csv,noheader,nounits \
        --query-compute-apps=pid,gpu_uuid,used_memory,process_name 2>/dev/null | grep '^[0-9]')
    printf '%s\n' "$processes"
    section gpu-cgroups
    for pid in $(printf '%s\n' "$processes" | cut -d , -f 1 | sort -u); do
        printf '%s %s\n' "$pid" "$(tr '\n' ' ' <"/proc/$pid/cgroup" 2>/dev/null)"
    done

    section links
    ip -o link show 2>/dev/null
    section addresses
    ip -o -4 addr show 2>/dev/null
    section speeds
    for file in /sys/class/net/*/speed; do
        name=${file%/speed}
        printf '%s %s\n' "${name##*/}" "$(cat "$file" 2>/dev/null)"
    done
    section routes
    for peer; do ip -o -4 route get "$peer" 2>/dev/null; done
    section paths
    for peer; do connect "$peer" & done
    wait

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
        printf "%s$tab%s$tab%s\n" "$(stat -Lc %s "$file")" \
            "$(od -An -tu8 -N8 "$file" | tr -d ' ')" "${file##*/}"
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
