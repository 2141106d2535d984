package jobserver

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/neardup/neardup/runners/remote"
)

var (
	javaName = regexp.MustCompile(`^(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error): `)
	// broken matches gRPC's text for a connection that ended before its worker did.
	broken   = regexp.MustCompile(`^(?:CANCELLED|UNAVAILABLE): `)
	javaLine = regexp.MustCompile(`\n\s+(?:at [\w.$/]+\(|\.\.\. \d+ more)`)
)

// Flink's texts about too little memory for a sort and for the network.
var (
	sortBuffer = regexp.MustCompile(`The record exceeds the maximum size of a sort buffer[^\n]*|Cannot write record to fresh sort buffer[^\n]*|Too little memory provided to sorter[^\n]*`)
	buffers    = regexp.MustCompile(`(?i)Insufficient number of network buffers: required (\d+), but only (\d+) available\. The total number of network buffers is currently set to (\d+) of (\d+) bytes each`)
)

// fewBuffers advises how much network memory to set: twice the missing amount more, and at least twice the present
// amount, because steps that have not begun need buffers, too.
func fewBuffers(said []string) string {
	n := make([]int, len(said))
	for i := range said[1:] {
		n[i+1], _ = strconv.Atoi(said[i+1])
	}
	required, available, total, size := n[1], n[2], n[3], n[4]
	mib := func(buffers int) int { return (buffers*size + 1<<20 - 1) >> 20 }
	return fmt.Sprintf("a task manager has too little network memory: %d buffers of %d bytes are required, "+
		"but only %d of %d "+
		"are free; set taskmanager.memory.network.min and taskmanager.memory.network.max to %dm, or use fewer --workers "+
		"(docs/flink.md)",
		required, size, available, total, mib(max(2*total, total+2*(required-available))))
}

// outputs says where to find a worker's own output, by environment.
var outputs = map[string]string{
	Loopback: "it is above, since the worker is this process",
	"process": "the boot program writes it on the task manager's machine, and Flink discards it by default " +
		"(docs/flink.md)",
	"external": "it is part of the worker pool's output",
	"docker":   "docker logs shows it on the machine of the task manager, with -- --retain_docker_containers",
}

// explain extracts from the server's text what the user needs.
func (j *job) explain(said string) error {
	f := &remote.Failure{Job: j.id, Said: said}
	environment := j.server.options.Environment
	text := said
	if stack := javaLine.FindStringIndex(text); stack != nil {
		text = text[:stack[0]]
	}
	for javaName.MatchString(text) {
		text = javaName.ReplaceAllString(text, "")
	}
	text = strings.TrimSpace(text)
	f.Short = remote.DoFnError(text, said)
	switch {
	case f.Short != "":
	case environment.Kind == "external" && strings.Contains(text, "Connection refused"):
		f.Short = fmt.Sprintf("the task managers cannot reach a worker pool at %s: %s; start boot --worker_pool there",
			environment.Config, text)
	case broken.MatchString(text):
		f.Short = fmt.Sprintf("a worker died without a message, as happens when memory runs out (%s); look at its output: %s",
			text, outputs[environment.Kind])
	case strings.HasPrefix(text, "Process died with exit code"):
		f.Short = fmt.Sprintf("the worker's boot program did not start: %s; look at its output: %s",
			text, outputs[environment.Kind])
	case sortBuffer.MatchString(said):
		f.Short = fmt.Sprintf("Flink has too little memory to sort a group: %s; set taskmanager.memory.managed.size to at "+
			"least twice its current value, 512m per slot or more (docs/flink.md)", sortBuffer.FindString(said))
	case buffers.MatchString(said):
		f.Short = fewBuffers(buffers.FindStringSubmatch(said))
	case strings.Contains(said, "NoResourceAvailableException"):
		f.Short = "the cluster has too few free slots; use fewer --workers, or raise taskmanager.numberOfTaskSlots or the " +
			"number of task managers"
	case text == "":
		f.Short = fmt.Sprintf("job %s failed, but the server does not say why; see the server's log", j.id)
	default:
		f.Short = text
	}
	f.Short = strings.TrimSpace(f.Short)
	return f
}
