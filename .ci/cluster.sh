# Shared by .ci/flink, .ci/spark and others, which source it at the top of the tree. They run neardup on a
# real cluster and compare its output with the local runner's. They end the processes that they start, by
# process id, and use free ports. The logs of a failed run remain in .cache/cluster-logs.

say() { printf '%s: %s (%d s)\n' "${0##*/}" "$*" "$SECONDS"; }
fail() { printf '%s: FAILED: %s\n' "${0##*/}" "$*" >&2; exit 1; }

work=$(mktemp -d)
mkdir "$work/logs"
pids=()
ended() {
  local status=$? pid
  for pid in "${pids[@]}"; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  if [ "$status" -ne 0 ]; then
    mkdir -p .cache/cluster-logs
    cp -r "$work/logs/." .cache/cluster-logs
    echo "${0##*/}: logs are in .cache/cluster-logs" >&2
  fi
  rm -rf "$work"
}
trap ended EXIT

# tools installs Java and Maven if they are missing and can be installed.
tools() {
  local missing=()
  command -v java >/dev/null || missing+=(openjdk-17-jre-headless)
  command -v mvn >/dev/null || missing+=(maven)
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    say "installing ${missing[*]}"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null && return
  fi
  fail "needs Java 17 and Maven: install ${missing[*]}, or say NEARDUP_CLUSTER=skip to go without"
}

# classpath NAME: puts the jars of .ci/jobserver/NAME/pom.xml and their dependencies into .cache/NAME/lib.
classpath() {
  local pom=.ci/jobserver/$1/pom.xml cache=.cache/$1
  cmp -s "$pom" "$cache/pom.xml" && return # copied last
  say "resolving the classpath of $pom"
  rm -rf "$cache"
  mkdir -p "$cache"
  timeout 300 mvn -q -B -f "$pom" dependency:copy-dependencies -DoutputDirectory="$PWD/$cache/lib" -DincludeScope=runtime ||
    fail "Maven could not resolve $pom; if this machine cannot reach a repository, say NEARDUP_CLUSTER=skip to go without"
  cp "$pom" "$cache/pom.xml"
}

# build builds neardup, which is also the worker, and Beam's boot program, which starts workers. Both are static,
# and boot has the version of the SDK.
build() {
  say "building neardup and boot"
  CGO_ENABLED=0 go build -tags disable_grpc_modules -ldflags='-s -w' -o .cache/cluster/ ./cmd/neardup
  CGO_ENABLED=0 go build -ldflags='-s -w' -o .cache/cluster/boot github.com/apache/beam/sdks/v2/go/container
  neardup=$PWD/.cache/cluster/neardup
  mkdir "$work/staged"
  cat >"$work/boot.sh" <<BOOT
#!/bin/sh
dir=\$(mktemp -d '$work/staged/XXXXXX') && cd "\$dir" || exit 1
trap 'kill "\$boot" "\$watch"; wait "\$boot"; rm -rf "\$dir"' EXIT
trap 'exit 143' TERM INT
(while kill -0 \$PPID 2>/dev/null; do sleep 1; done; kill \$\$) & # boot waits for a task manager that was killed
watch=\$!
export GOMEMLIMIT=1GiB
'$PWD/.cache/cluster/boot' --semi_persist_dir="\$dir" "\$@" >>'$work/logs/worker.log' 2>&1 &
boot=\$!
wait "\$boot"
BOOT
  chmod +x "$work/boot.sh"
}

freeport() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# serve LOG COMMAND...: starts a server; its process is $!.
serve() {
  local log=$work/logs/$1
  shift
  "$@" >"$log" 2>&1 &
  pids+=($!)
}

# ready PORT LOG: waits until the last server started accepts connections.
ready() {
  local pid=${pids[-1]}
  for _ in $(seq 1800); do
    kill -0 "$pid" 2>/dev/null || { tail -40 "$work/logs/$2" >&2; fail "the server ended; its log is above"; }
    if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return; fi
    sleep 0.1
  done
  tail -40 "$work/logs/$2" >&2
  fail "nothing accepts connections on port $1; the server's log is above"
}

# choose fills corpora with the inputs, one per line: a name, then arguments of dedup.
choose() {
  local data=../shared/data bundled=()
  # Has two jobs: the first counts the documents of each shingle.
  corpora=("simhash testdata/tldr --method simhash --pieces 19 --compare cosine --weights tf-idf --threshold 0.6"
    "against testdata/tldr/osx.jsonl testdata/tldr/windows.jsonl --against testdata/tldr --threshold 0.5 --shingle char:5")
  if [ -d $data/reuters21578 ]; then
    corpora+=("reuters21578 $data/reuters21578/*.sgm --format reuters")
  else
    bundled+=(reuters21578)
  fi
  if [ -d $data/imdb_reviews ]; then
    corpora+=("imdb_reviews $data/imdb_reviews/imdb.jsonl.zst --limit 20000")
  else
    bundled+=(imdb_reviews)
  fi
  if [ ${#bundled[@]} -gt 0 ]; then
    echo "SKIP: $data has no ${bundled[*]}; testdata/tldr takes the place"
    corpora+=("tldr testdata/tldr --shingle char:5 --threshold 0.5")
  fi
}

# locally CORPUS: deduplicates it on the local runner, for comparison.
locally() {
  local name args
  read -r name args <<<"$1"
  # shellcheck disable=SC2086 # arguments
  "$neardup" dedup $args --output "$work/$name.local" >"$work/logs/$name.local.txt"
}

# same CORPUS NAME FLAGS...: deduplicates it on the cluster. Every file except run.json, which has
# times, must have the same bytes as with the local runner.
same() {
  local corpus=$1 run=$2 name args
  read -r name args <<<"$corpus"
  shift 2
  local out=$work/$name.$run log=$work/logs/$name.$run.txt
  # shellcheck disable=SC2086 # arguments
  timeout 300 "$neardup" dedup $args --output "$out" "$@" >"$log" 2>&1 ||
    { cat "$log" >&2; fail "$name, $run"; }
  diff -r --exclude=run.json --exclude=report.html --exclude=_SUCCESS "$work/$name.local" "$out" >&2 || fail "$name, $run: not the bytes of the local runner"
  grep -q '"fetch/documents"' "$out/run.json" || fail "$name, $run: no counters came back"
  say "$name, $run: $(find "$out" -type f ! -name run.json ! -name report.html ! -name _SUCCESS | wc -l) files as with the local runner"
  rm -rf "$out"
}

if [ "${NEARDUP_CLUSTER:-}" = skip ]; then
  echo "SKIP: NEARDUP_CLUSTER=skip: neardup was NOT run on a cluster"
  exit 0
fi
