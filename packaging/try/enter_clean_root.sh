#!/bin/sh
# Runs a script in a clean root, over which nothing that is done there outlives it. The only network is a server on
# loopback with the packages: what an installation takes from elsewhere is missing.
#
# Started in namespaces of its own: enter_clean_root.sh ROOT SCRATCH SITE PORT SCRIPT
set -eu
root=$1 scratch=$2 site=$3 port=$4 script=$5

mount --make-rprivate /
mount -t tmpfs tmpfs "$scratch"
mkdir "$scratch/up" "$scratch/work" "$scratch/tree"
mount -t overlay overlay -o "lowerdir=$root,upperdir=$scratch/up,workdir=$scratch/work" "$scratch/tree"
mount -t proc proc "$scratch/tree/proc"
# Terminals of its own. The devices are the root's: whoever removes one there removes none of this machine.
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$scratch/tree/dev/pts"
ln -sf pts/ptmx "$scratch/tree/dev/ptmx"
# Of other file systems, so that lists of files leave them out: /run as in every system, and room for the script.
mount -t tmpfs tmpfs "$scratch/tree/run"
mount -t tmpfs tmpfs "$scratch/tree/mnt"
cp "$script" "$scratch/tree/mnt/script"
ip link set lo up
python3 -m http.server --bind 127.0.0.1 --directory "$site" "$port" >"$scratch/server.log" 2>&1 &
until python3 -c "import socket; socket.create_connection(('127.0.0.1', $port))" 2>/dev/null; do
    sleep 0.1
done
chroot "$scratch/tree" /bin/sh /mnt/script
