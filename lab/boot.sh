#!/bin/sh
# Boots one lab host. Runs as PID 1 of new mount, UTS, IPC and PID namespaces in the host's
# network namespace. Every mount is made in here, so all of them go when the host's processes go.
# Usage: boot.sh FOLDER ROOTFS HOSTNAME MARKER; the lab finds the host by the marker.
set -eu
folder=$1 rootfs=$2 name=$3 marker=$4

mount --make-rprivate /
data=$folder/data
if [ -f "$folder/disk.img" ]; then
    mount -o loop "$folder/disk.img" "$data"
fi
mkdir -p "$data/changes" "$data/work" "$data/docker" "$data/srv"
root=$folder/root
mount -t overlay -o "lowerdir=$rootfs,upperdir=$data/changes,workdir=$data/work" overlay "$root"
cp -a "$folder/seed/." "$root/"

mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mkdir -p "$root/var/lib/docker"
mount --bind "$data/docker" "$root/var/lib/docker"
mount --bind "$data/srv" "$root/srv"

# Devices of its own: shared memory is not the machine's, and a test may add devices.
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
while read -r device major minor; do
    mknod -m 666 "$root/dev/$device" c "$major" "$minor"
done <<DEVICES
null 1 3
zero 1 5
full 1 7
random 1 8
urandom 1 9
tty 5 0
DEVICES
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"
mkdir "$root/dev/pts" "$root/dev/shm" "$root/dev/mqueue"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t mqueue mqueue "$root/dev/mqueue"

hostname "$name"
cd "$root"
mkdir -p .machine
pivot_root . .machine
# tini, since a PID 1 has to reap the children of processes that end before them.
exec chroot . /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    LANG=C.UTF-8 /usr/bin/tini-static -- /usr/local/sbin/lab-services "$marker"
