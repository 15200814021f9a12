#!/bin/sh
# Builds the image of the command from a folder with the sources, and tries it: container.sh FOLDER [--save FILE] [--if-any].
# With --if-any it is no error that no container engine runs here.
set -eu
folder=$1
shift
save= if_any=
while [ $# -gt 0 ]; do
    case $1 in
    --save) save=$2; shift ;;
    --if-any) if_any=yes ;;
    *) echo "container: $1 is unknown" >&2; exit 2 ;;
    esac
    shift
done
engine=
for one in podman docker; do
    if [ -z "$engine" ] && command -v "$one" >/dev/null && "$one" info >/dev/null 2>&1; then
        engine=$one
    fi
done
if [ -z "$engine" ]; then
    echo "container: neither podman nor docker runs here, so there is no image" >&2
    [ -n "$if_any" ] && exit 0
    exit 1
fi
"$engine" build --file "$folder/Containerfile" --tag clockhand ${PROFILE:+--build-arg "PROFILE=$PROFILE"} "$folder"
# It answers, is no root, and simulates a trace that is mounted.
"$engine" run --rm clockhand --version
[ "$("$engine" run --rm --entrypoint id clockhand -u)" -ne 0 ]
"$engine" run --rm --volume "$(cd "$folder" && pwd)/traces:/data:ro" clockhand \
    simulate tar-gzip.parquet --policy clock,craw --memory 5% --format csv --quiet | grep --quiet '^tar-gzip.parquet,craw,'
[ -z "$save" ] || "$engine" save clockhand | gzip --no-name >"$save"
