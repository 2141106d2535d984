# A Flink cluster in its own processes, for .ci/flink --standalone, which sources this file: a job manager
# and a task manager of Flink 1.19.3, whose jars come with PyFlink.

# opens lists the packages that Java 17 must open for Flink and Spark.
opens=()
for p in java.util java.lang java.lang.reflect java.lang.invoke java.net java.io java.nio java.text java.time \
  java.util.concurrent java.util.concurrent.atomic java.util.concurrent.locks sun.nio.ch sun.nio.cs; do
  opens+=("--add-opens=java.base/$p=ALL-UNNAMED")
done

# standalone starts a cluster and writes its configuration to $conf. It sets master to the cluster's address, and
# taskmanager to the task manager's process id.
standalone() {
  local version=1.19.3 lib rest
  lib=.cache/flink-$version
  if [ ! -e "$lib/done" ]; then
    say "downloading Flink $version"
    rm -rf "$lib"
    mkdir -p "$lib"
    timeout 300 python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$work/pip" "apache-flink-libraries==$version" ||
      fail "pip could not download apache-flink-libraries==$version"
    tar -xzf "$work"/pip/*.tar.gz -C "$lib" --strip-components=1
    touch "$lib/done"
  fi
  rest=$(freeport)
  # Flink's scripts would compute these sizes; without them, all must be set.
  cat >"$conf/flink-conf.yaml" <<CONF
jobmanager.rpc.address: 127.0.0.1
jobmanager.rpc.port: $(freeport)
jobmanager.bind-host: 127.0.0.1
jobmanager.memory.process.size: 1024m
rest.address: 127.0.0.1
rest.bind-address: 127.0.0.1
rest.port: $rest
blob.server.port: $(freeport)
taskmanager.host: 127.0.0.1
taskmanager.bind-host: 127.0.0.1
taskmanager.cpu.cores: 2.0
taskmanager.numberOfTaskSlots: 2
taskmanager.memory.framework.heap.size: 128m
taskmanager.memory.framework.off-heap.size: 128m
taskmanager.memory.task.heap.size: 1024m
taskmanager.memory.task.off-heap.size: 256m
taskmanager.memory.network.min: 256m
taskmanager.memory.network.max: 256m
taskmanager.memory.managed.size: 512m
taskmanager.memory.jvm-metaspace.size: 256m
taskmanager.memory.jvm-overhead.min: 192m
taskmanager.memory.jvm-overhead.max: 192m
parallelism.default: 2
io.tmp.dirs: $work
CONF
  cat >"$conf/log4j.properties" <<'CONF'
rootLogger.level = INFO
rootLogger.appenderRef.out.ref = out
appender.out.name = out
appender.out.type = CONSOLE
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %-5p %c{1} %m%n
CONF
  local java=(java "${opens[@]}" -Dlog4j.configurationFile="file:$conf/log4j.properties" -XX:MaxMetaspaceSize=256m -cp "$lib/deps/lib/*")
  serve jobmanager.log "${java[@]}" -Xmx512m org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint --configDir "$conf" --executionMode cluster
  ready "$rest" jobmanager.log
  serve taskmanager.log "${java[@]}" -Xms1152m -Xmx1152m -XX:MaxDirectMemorySize=640m org.apache.flink.runtime.taskexecutor.TaskManagerRunner --configDir "$conf"
  taskmanager=${pids[-1]}
  for _ in $(seq 1800); do
    if python3 -c 'import json, sys, urllib.request as u; sys.exit(json.load(u.urlopen(sys.argv[1]))["slots-available"] < 2)' "http://127.0.0.1:$rest/overview" 2>/dev/null; then
      master=127.0.0.1:$rest
      say "Flink $version is ready"
      return
    fi
    kill -0 "${pids[-1]}" 2>/dev/null || { tail -40 "$work/logs/taskmanager.log" >&2; fail "the task manager ended; its log is above"; }
    sleep 0.1
  done
  fail "the task manager has no free slots"
}
