#!/bin/sh
# Installs {{name}} {{version}} below a prefix, ~/.local if none is named, or takes out what it installed:
#
#   curl -fsSL {{repository}}/releases/latest/download/install.sh | sh
#   curl -fsSL {{repository}}/releases/latest/download/install.sh | sh -s -- --prefix /usr/local
#   curl -fsSL {{repository}}/releases/latest/download/install.sh | sh -s -- --remove
#
# Nothing is installed whose checksum is not that of the release. SIGLUM_INSTALL_FROM names a mirror of its files.
set -eu

VERSION='{{version}}'
FROM=${SIGLUM_INSTALL_FROM:-'{{repository}}/releases/download/v{{version}}'}

fail() {
    echo "error: $1" >&2
    exit 1
}

usage() {
    echo "usage: install.sh [--prefix DIR] [--target TRIPLE] [--remove]" >&2
    exit 2
}

# The program for this machine, as Rust calls it.
find_target() {
    case $(uname -m) in
        x86_64 | amd64) cpu=x86_64 ;;
        aarch64 | arm64) cpu=aarch64 ;;
        *) fail "there is no program for $(uname -m)" ;;
    esac
    case $(uname -s) in
        Darwin) echo "$cpu-apple-darwin" ;;
        Linux)
            if getconf GNU_LIBC_VERSION >/dev/null 2>&1; then
                echo "$cpu-unknown-linux-gnu"
            else
                echo "$cpu-unknown-linux-musl"
            fi
            ;;
        *) fail "there is no program for $(uname -s)" ;;
    esac
}

# Downloads NAME into FILE.
download() {
    if command -v curl >/dev/null; then
        curl -fsSL -o "$2" "$FROM/$1" || fail "$FROM/$1 cannot be downloaded"
    elif command -v wget >/dev/null; then
        wget -q -O "$2" "$FROM/$1" || fail "$FROM/$1 cannot be downloaded"
    else
        fail "neither curl nor wget is here"
    fi
}

digest() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1"
    else
        shasum -a 256 "$1"
    fi | cut -d ' ' -f 1
}

# Refuses FILE unless it is NAME of the release.
verify() {
    wanted=$(awk -v name="$2" '$2 == name { print $1 }' "$3")
    [ -n "$wanted" ] || fail "SHA256SUMS does not name $2"
    found=$(digest "$1")
    [ "$found" = "$wanted" ] || fail "the checksum of $2 is $found, not $wanted: nothing was installed"
}

# Makes a directory and those above it, and writes down which were not there.
make_dir() {
    [ -d "$1" ] && return
    make_dir "$(dirname "$1")"
    mkdir "$1"
    echo "$1" >>"$work/dirs"
}

# Takes out what RECORD lists: files first, then the directories that are empty by then.
take_out() {
    while read -r path; do
        [ -d "$path" ] || rm -f "$path"
    done <"$1"
    sort -r "$1" | while read -r path; do
        [ ! -d "$path" ] || rmdir "$path" 2>/dev/null || true
    done
}

# Puts the files of TREE below the prefix. Each takes the place of the one before at once: hooks go on to find a program.
install_tree() {
    : >"$work/dirs"
    (cd "$1" && find . -type f) | sed 's|^\./||' | sort >"$work/names"
    while read -r name; do
        make_dir "$(dirname "$prefix/$name")"
        cp "$1/$name" "$prefix/$name.new"
        mv -f "$prefix/$name.new" "$prefix/$name"
        echo "$prefix/$name"
    done <"$work/names" >"$work/files"
    echo "$record" >>"$work/files"
}

# Writes down what is ours now, and takes out what the version before had besides.
keep_record() {
    if [ -f "$record" ]; then
        while read -r path; do
            if [ -d "$path" ]; then
                echo "$path" >>"$work/dirs"
            elif ! grep -qxF "$path" "$work/files"; then
                rm -f "$path"
            fi
        done <"$record"
    fi
    cat "$work/files" "$work/dirs" >"$record"
}

install() {
    name="siglum-$VERSION-$target.tar.gz"
    download SHA256SUMS "$work/sums"
    download "$name" "$work/tarball"
    verify "$work/tarball" "$name" "$work/sums"
    mkdir "$work/tree"
    tar -xzf "$work/tarball" -C "$work/tree" --strip-components 1
    "$work/tree/bin/siglum" --version >/dev/null || fail "the program for $target does not run here; name another one with --target"
    install_tree "$work/tree"
    keep_record
    echo "siglum $VERSION is installed as $prefix/bin/siglum."
    case ":$PATH:" in
        *":$prefix/bin:"*) ;;
        *) echo "Add $prefix/bin to your PATH." ;;
    esac
    echo "Next: cd your-repository && siglum init"
}

remove() {
    [ -f "$record" ] || fail "nothing that this script installed is below $prefix"
    cp "$record" "$work/record"
    take_out "$work/record"
    echo "siglum is removed. Repositories that it was switched on for go on without it; its ledger is where it was."
}

main() {
    prefix=${HOME:+$HOME/.local} target='' deed=install
    while [ $# -gt 0 ]; do
        case $1 in
            --prefix) [ $# -gt 1 ] || usage; prefix=$2; shift ;;
            --target) [ $# -gt 1 ] || usage; target=$2; shift ;;
            --remove) deed=remove ;;
            *) usage ;;
        esac
        shift
    done
    case $prefix in /*) ;; *) fail "the prefix must be an absolute path" ;; esac
    record=$prefix/share/doc/siglum/installed-files
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    [ -n "$target" ] || target=$(find_target)
    $deed
}

# At the end, so that a script that was cut off does nothing.
main "$@"
