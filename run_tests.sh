#!/usr/bin/env bash
# Runs go vet and all tests. Arguments are passed to `go test`, such as -run TestLayers or -v.
# Tests on larger corpora, which are in ../shared/data if present, are skipped otherwise.
set -euo pipefail
unset CDPATH
cd "$(dirname "${BASH_SOURCE[0]}")"
if ! command -v go >/dev/null; then
  echo "run_tests.sh: needs the Go toolchain (go.mod names the version); install it and run again" >&2
  exit 1
fi
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -tags=disable_grpc_modules -trimpath" # as run_local.sh: one build for all
go vet ./...
# A machine may be shared: the longest package takes minutes on one that is not.
exec go test -timeout 25m ./... "$@"
