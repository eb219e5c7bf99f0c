#!/bin/sh
# Starts systemd as process 1 over a clean root. Nothing that is done there outlives it: all that is written is in memory,
# and mounts and processes end with it. It has a network of its own, with loopback alone.
#
# Started in namespaces of its own: boot_clean_root.sh ROOT SCRATCH
set -eu
root=$1 scratch=$2

mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$scratch"
mkdir "$scratch/up" "$scratch/work" "$scratch/tree"
tree=$scratch/tree
mount -t overlay overlay -o "lowerdir=$root,upperdir=$scratch/up,workdir=$scratch/work" "$tree"
mount -t proc proc "$tree/proc"
# Settings of the kernel are this machine's: nothing in there changes them.
mount --bind "$tree/proc/sys" "$tree/proc/sys"
mount -o remount,bind,ro "$tree/proc/sys"
mount -t sysfs -o ro sysfs "$tree/sys"
# The controllers may belong to version 1 of this machine; systemd needs the tree of groups alone.
mount -t cgroup2 cgroup2 "$tree/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$tree/run"
mount -t tmpfs -o mode=755 tmpfs "$tree/mnt"
# Devices are this machine's, terminals its own.
mount -t tmpfs -o mode=755 tmpfs "$tree/dev"
for node in null zero full random urandom tty; do
    : >"$tree/dev/$node"
    mount --bind "/dev/$node" "$tree/dev/$node"
done
mkdir "$tree/dev/pts" "$tree/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$tree/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$tree/dev/shm"
ln -s pts/ptmx "$tree/dev/ptmx"
ln -s /proc/self/fd "$tree/dev/fd"
for each in 0/stdin 1/stdout 2/stderr; do
    ln -s "/proc/self/fd/${each%/*}" "$tree/dev/${each#*/}"
done
echo gateway >"$tree/etc/hostname"
ip link set lo up
# Not by chroot: a process in one may make no namespaces of users, and units have them.
cd "$tree"
mkdir old
pivot_root . old
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin container=siglum \
    sh -c 'umount -l /old && rmdir /old && exec /lib/systemd/systemd "$@"' systemd --log-target=console --show-status=no
