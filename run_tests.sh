#!/usr/bin/env bash
# Passes all tests. Arguments are passed to `go test`, such as -run TestTruth.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
if ! command -v go >/dev/null; then
  echo "run_tests.sh: needs the Go toolchain (see go.mod for the version); install it and run again" >&2
  exit 1
fi
go vet ./...
exec go test ./... "$@"
