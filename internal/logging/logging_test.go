package logging

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
)

// say logs a line of each level, and Beam's.
func say(t *testing.T, f Flags) string {
	var out strings.Builder
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(f.Logger(&out))
	slog.Debug("stage begins", "name", "source.Read")
	slog.With("runner", "local").WithGroup("plan").Info("pipeline ended", "seconds", 1.5, "what", "a b")
	Notice("11s, 3 records read", "records", 3)
	slog.Warn("2 records are unreadable")
	slog.Error("no input: give files", "error", errors.New("x"))
	ctx := context.Background()
	beamlog.Error(ctx, "beam: error")
	beamlog.Warn(ctx, "beam: warning")
	beamlog.Info(ctx, "beam: info")
	return out.String()
}

func TestText(t *testing.T) {
	const (
		warnings = "neardup: 11s, 3 records read\nneardup: warning: 2 records are unreadable\nneardup: no input: give files error=x\n"
		info     = "neardup: pipeline ended runner=local plan.seconds=1.5 plan.what=\"a b\"\n" + warnings +
			"neardup: beam: error\nneardup: warning: beam: warning\n"
		debug = "neardup: stage begins name=source.Read\n" + info + "neardup: beam: info\n"
	)
	for verbose, want := range []string{warnings, info, debug, debug} {
		if got := say(t, Flags{Verbose: verbose}); got != want {
			t.Errorf("%d times --verbose:\n%s\nwant\n%s", verbose, got, want)
		}
	}
}

// On a terminal, a message replaces the progress line, and breaks between words.
func TestTerminal(t *testing.T) {
	var out strings.Builder
	slog.New(newText(&lines{w: &out, width: 30, erase: func() string { return "\r\x1b[K" }}, notice)).Warn("in/long.jsonl.gz is  late\nand the second")
	if want := "\r\x1b[Kneardup: warning:\nin/long.jsonl.gz is late\nand the second\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestJSON(t *testing.T) {
	type line struct{ Level, Msg, Runner string }
	var got []line
	for text := range strings.Lines(say(t, Flags{Verbose: 1, LogFormat: "json"})) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got = append(got, l)
	}
	want := []line{
		{"INFO", "pipeline ended", "local"}, {"INFO", "11s, 3 records read", ""}, {"WARN", "2 records are unreadable", ""},
		{"ERROR", "no input: give files", ""}, {"ERROR", "beam: error", ""}, {"WARN", "beam: warning", ""},
	}
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("line %d: %v, want %v", i, got[i], want[i])
		}
	}
}

// A command line with other mistakes still sets the format of their messages.
func TestEarly(t *testing.T) {
	for line, want := range map[string]bool{
		"dedup --log-format json --treshold": true,
		"--log-format=json":                  true,
		"dedup --log-format=text":            false,
		"dedup --log-format":                 false,
		"dedup json":                         false,
		"":                                   false,
	} {
		if got := Early(strings.Fields(line)).JSON(); got != want {
			t.Errorf("%q: JSON is %v, want %v", line, got, want)
		}
	}
}

// Characters in a message that a terminal would interpret are shown as dots; line ends stay.
func TestMaskedMessages(t *testing.T) {
	var out strings.Builder
	Flags{LogFormat: "text"}.Logger(&out).Error("id \x1b]52;c;eA==\a, name x\u202ey\r\nnext")
	if want := "neardup: id ·]52;c;eA==·, name x·y·\nnext\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// Lines for people show paths below the working folder as users give them.
func TestRelative(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	for message, want := range map[string]string{
		folder + "/out is not empty":                      "out is not empty",
		"--from " + folder + "/a: see '" + folder + "/b'": "--from a: see 'b'",
		"/mnt" + folder + "/x, " + folder + "x":           "/mnt" + folder + "/x, " + folder + "x",
		"under " + folder:                                 "under " + folder,
	} {
		if got := relative(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}
