#!/usr/bin/env bash
# Builds neardup and runs it on this machine. Without arguments it deduplicates the bundled
# documents of testdata/tldr into out/tldr; arguments are passed to `neardup dedup` as they are.
set -euo pipefail
start=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")"
if ! command -v go >/dev/null; then
  echo "run_local.sh: needs the Go toolchain (see go.mod for the version); install it and run again" >&2
  exit 1
fi
[ -x bin/neardup ] || echo "building neardup (the first build takes a few minutes) ..." >&2
go build -o bin/neardup ./cmd/neardup
neardup=$PWD/bin/neardup
if [ $# -gt 0 ]; then
  cd "$start"
  exec "$neardup" dedup "$@"
fi
echo "deduplicating testdata/tldr: help pages of command-line programs, one file a platform" >&2
exec "$neardup" dedup testdata/tldr --output out/tldr --overwrite
