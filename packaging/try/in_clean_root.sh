#!/bin/sh
# Installs a package by its one line, runs the program, removes the package, and compares the files of before and after.
#
# INSTALL, CHECK and REMOVE are commands, and BY is how the program says that it was installed. PREPARE is done before the
# files are listed. What MANAGER matches is the bookkeeping of the package manager, its logs and caches.
set -eu
say() { echo "-- $1"; }

list() {
    find / -xdev \( -type f -printf '%p %m %s\n' -o -printf '%p %y\n' \) | grep -Ev "$MANAGER" | LC_ALL=C sort
}

cd "$HOME"
eval "$PREPARE"
list >/mnt/before

say "$INSTALL"
eval "$INSTALL"
hash -r
say 'siglum version'
siglum version
say 'siglum upgrade --check'
siglum upgrade --check
siglum upgrade --check | grep -qF "installed by: $BY"
say 'siglum demo'
siglum demo >/mnt/demo 2>&1 || { cat /mnt/demo; exit 1; }
grep -A 4 '^\$ siglum why' /mnt/demo || tail -n 3 /mnt/demo
eval "$CHECK"

say "$REMOVE"
eval "$REMOVE"
hash -r
list >/mnt/after
if command -v siglum; then
    echo 'error: the program is still there' >&2
    exit 1
fi
if ! diff /mnt/before /mnt/after; then
    echo 'error: the files before and after differ' >&2
    exit 1
fi
say 'nothing left'
