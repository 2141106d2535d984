#!/usr/bin/env bash
# Builds neardup and runs it on this machine. Without arguments it deduplicates the bundled
# documents of testdata/tldr into out/tldr and prints what it found; arguments are passed to
# `neardup dedup` as they are, paths being those of the folder you call it from.
set -euo pipefail
unset CDPATH
start=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$PWD
if ! command -v go >/dev/null; then
  echo "run_local.sh: needs the Go toolchain (go.mod names the version); install it and run again" >&2
  exit 1
fi
[ -x bin/neardup ] || echo "building bin/neardup (the first build takes a few minutes) ..." >&2
export CGO_ENABLED=0 # a static binary can also be sent to the workers of a cluster
# The tag leaves out what Google Cloud Storage by gRPC needs: neardup uses its JSON API.
go build -tags disable_grpc_modules -trimpath -ldflags="-s -w" -o bin/neardup ./cmd/neardup
cd "$start"
if [ $# -gt 0 ]; then
  exec "$root/bin/neardup" dedup "$@"
fi
[ "$start" = "$root" ] && at="" || at=$root/
echo "deduplicating ${at}testdata/tldr: help pages of command-line programs, one file per platform" >&2
"$root/bin/neardup" dedup "${at}testdata/tldr" --output "${at}out/tldr" --overwrite
echo "next: ${at:-./}run_local.sh YOUR.jsonl --output DIR, or ${at:-./}run_local.sh --help" >&2
