// Package logging writes the messages of a run to stderr, as lines for people or as JSON for programs.
package logging

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/terminal"
)

// Flags say how much is logged, and how.
type Flags struct {
	Verbose   int    `short:"v" type:"counter" xor:"verbosity" help:"Log what the run does; -vv logs more, such as each stage of the local runner."`
	Quiet     bool   `short:"q" xor:"verbosity" help:"Print only warnings, errors and requested results: run.json with --json, the plan with --dry-run, and the results of commands other than dedup, passages, index and finish."`
	LogFormat string `default:"text" enum:"text,json" placeholder:"FORMAT" help:"Format of the log: text, or json with one object per line (default: ${default})."`
}

// notice is the level of messages that are shown without --verbose and are not warnings, such as progress.
const notice = slog.LevelInfo + 2

// Notice logs a message that is shown without --verbose and is not a warning. Details, as in slog.Log, are for
// programs: lines for people have only the message.
func Notice(message string, details ...any) {
	slog.Log(context.Background(), notice, message, details...)
}

// JSON reports whether each line is JSON.
func (f Flags) JSON() bool { return f.LogFormat == "json" }

// Early returns the format that a command line, or the environment, sets, to log the errors of parsing the command line
// in this format, too.
func Early(args []string) (f Flags) {
	f.LogFormat = os.Getenv("NEARDUP_LOG_FORMAT")
	const name = "--log-format"
	for i, arg := range args {
		if value, ok := strings.CutPrefix(arg, name+"="); ok {
			f.LogFormat = value
		} else if arg == name && i+1 < len(args) {
			f.LogFormat = args[i+1]
		}
	}
	return f
}

// Logger returns a logger that writes to w.
func (f Flags) Logger(w io.Writer) *slog.Logger {
	least := notice
	switch {
	case f.Quiet:
		least = slog.LevelWarn
	case f.Verbose == 1:
		least = slog.LevelInfo
	case f.Verbose > 1:
		least = slog.LevelDebug
	}
	if f.JSON() {
		return slog.New(quietBeam{slog.NewJSONHandler(w, &slog.HandlerOptions{Level: least, ReplaceAttr: nameNotice}), least})
	}
	out := &lines{w: w}
	if terminal.Watched(w) {
		out.erase = func() string { return terminal.Erase(w) }
		out.width = terminal.Width(w)
	}
	return slog.New(quietBeam{newText(out, least), least})
}

func newText(out *lines, least slog.Level) text {
	return text{slog.NewTextHandler(&out.line, &slog.HandlerOptions{Level: least, ReplaceAttr: dropBuiltIn}), out}
}

func nameNotice(groups []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && len(groups) == 0 && a.Key == slog.LevelKey && level == notice {
		return slog.String(slog.LevelKey, slog.LevelInfo.String())
	}
	return a
}

// dropBuiltIn drops the attributes that text writes itself.
func dropBuiltIn(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && slices.Contains([]string{slog.TimeKey, slog.LevelKey, slog.MessageKey}, a.Key) {
		return slog.Attr{}
	}
	return a
}

// text writes lines for people: neardup: message key=value.
type text struct {
	slog.Handler // writes the attributes and the end of the line to out.line
	out          *lines
}

// lines is the writer that the handlers of one logger share.
type lines struct {
	mu    sync.Mutex
	line  bytes.Buffer
	w     io.Writer
	width int           // of the terminal, where lines break between words; 0 if w is not a terminal
	erase func() string // returns what erases the progress line
}

func (t text) Handle(ctx context.Context, r slog.Record) error {
	t.out.mu.Lock()
	defer t.out.mu.Unlock()
	t.out.line.Reset()
	t.out.line.WriteString("neardup: ")
	if r.Level == slog.LevelWarn {
		t.out.line.WriteString("warning: ")
	}
	t.out.line.WriteString(terminal.MaskLines(relative(r.Message))) // the message may contain ids and names
	message := t.out.line.Len()
	if r.Level == notice {
		r = slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	}
	if err := t.Handler.Handle(ctx, r); err != nil {
		return err
	}
	line := t.out.line.Bytes()
	if len(line) > message+1 { // there are attributes
		line = slices.Insert(line, message, ' ')
	}
	if t.out.width > 0 {
		var fitting strings.Builder
		fitting.WriteString(t.out.erase()) // the progress line gives way, and is drawn again below
		for part := range strings.Lines(string(line)) {
			if utf8.RuneCountInString(part) > t.out.width {
				part = strings.Join(terminal.Wrap(part, t.out.width), "\n") + "\n"
			}
			fitting.WriteString(part)
		}
		line = []byte(fitting.String())
	}
	_, err := t.out.w.Write(line)
	return err
}

// relative shortens the paths below the working folder in a message, which has them in full, to those that the user
// gives.
func relative(message string) string {
	folder, err := os.Getwd()
	if err != nil || len(folder) < 2 || !strings.Contains(message, folder) {
		return message
	}
	return regexp.MustCompile(`(^|[\s"'(=])`+regexp.QuoteMeta(folder)+"/").ReplaceAllString(message, "$1")
}

func (t text) WithAttrs(attrs []slog.Attr) slog.Handler {
	return text{t.Handler.WithAttrs(attrs), t.out}
}

func (t text) WithGroup(name string) slog.Handler { return text{t.Handler.WithGroup(name), t.out} }

// quietBeam lowers the level of Beam's own messages, because the error of the job has what matters. Beam's errors and
// warnings are shown with -v, and the rest with -vv.
type quietBeam struct {
	slog.Handler
	least slog.Level
}

func (q quietBeam) Handle(ctx context.Context, r slog.Record) error {
	if fromBeam(r.PC) && min(r.Level-4, slog.LevelInfo) < q.least {
		return nil
	}
	return q.Handler.Handle(ctx, r)
}

func (q quietBeam) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietBeam{q.Handler.WithAttrs(attrs), q.least}
}

func (q quietBeam) WithGroup(name string) slog.Handler {
	return quietBeam{q.Handler.WithGroup(name), q.least}
}

// fromBeam reports whether Beam's code logs the message.
func fromBeam(pc uintptr) bool {
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return strings.HasPrefix(frame.Function, "github.com/apache/beam/")
}
