#!/usr/bin/env bash
# Captures the memory references of tar, then gzip, on the GNU licences that Debian's base-files ships, as
# tar-gzip.parquet: every access of each program from valgrind's lackey, through the CPU cache of the CRAW
# study (split first level, 16 KiB each, 4 ways, 32-byte lines, cold start), as requests of one cache line.
# The two programs are two streams of one timeline. Needs valgrind; run it from the project's folder after
# `make`. Takes about a minute.
set -euo pipefail

clockhand=$PWD/.venv/bin/clockhand
out=$PWD/traces/tar-gzip.parquet
files=(GPL-1 GPL-2 GPL-3 LGPL-2 LGPL-2.1 LGPL-3)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# capture NAME CMD...: the references of CMD in an empty environment, filtered while they are made.
capture() {
    local name=$1
    shift
    mkfifo "$work/$name.lackey"
    "$clockhand" trace convert --trace-format lackey --cpu-cache "$work/$name.lackey" "$work/$name.parquet" &
    env -i PATH="$PATH" valgrind --tool=lackey --trace-mem=yes --log-file="$work/$name.lackey" "$@"
    wait $!
}

cd "$work"
capture tar tar --create --file=licences.tar --directory=/usr/share/common-licenses "${files[@]}"
capture gzip gzip licences.tar
gzip --test licences.tar.gz
"$clockhand" trace convert tar.parquet gzip.parquet tar-gzip.parquet \
    --label "program=tar --create, then gzip (two processes, streams 0 and 1)" \
    --label "input=/usr/share/common-licenses: ${files[*]}" \
    --label "capture=$(valgrind --version) lackey --trace-mem=yes, $(tar --version | head -n 1), $(gzip --version | head -n 1)" \
    --label "cpu cache=split L1, 16 KiB + 16 KiB, 4 ways, 32-byte lines, LRU, write-back, a store miss allocates without reading, cold start"
mv tar-gzip.parquet "$out"
