package commit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output/commit"
)

// heedless is a process on a store that ignores the conditions and the deadline of removals, like fake-gcs-server.
type heedless struct{ process }

func (h *heedless) Remove(ctx context.Context, path string, _ storage.If) error {
	if err := h.before("remove " + path); err != nil {
		return err
	}
	return h.lake.Remove(ctx, h.in(path), storage.If{})
}

// weakly returns options of a run on a store that ignores the conditions of removals, or refuses such requests.
func (l *lake) weakly(scheme string, refuses bool, before func(request string) error) commit.Options {
	o := l.process(scheme, before)
	if l.NoConditionalRemove = refuses; !refuses {
		storage.Register(scheme+"://", &heedless{process{lake: l, scheme: scheme + "://", before: single(before)}})
	}
	o.Weak = true
	return o
}

// removesLock reports whether a request may remove another's lock on such a store.
func removesLock(request string) bool {
	return strings.HasPrefix(request, "remove ") && strings.HasSuffix(request, "/.lock")
}

// isSealed reports whether a run has left a seal.
func (l *lake) isSealed() bool {
	for info := range l.List(context.Background(), "lake://lake", nil) {
		if strings.HasSuffix(info.Path, "/sealed") {
			return true
		}
	}
	return false
}

// TestWeak: on a store without conditional DELETE, an output is replaced on request. Whenever such a run fails or is
// killed, it removes nobody else's lock, and the same command without the flag completes what is sealed. It refuses
// what it would have to replace.
func TestWeak(t *testing.T) {
	nth := 1 // the first request that fails
	for _, refuses := range []bool{false, true} {
		for _, finished := range []bool{false, true} {
			for _, killed := range []bool{false, true} {
				sealed, step := 0, nightly.Or(1, 3)
				start := min(nth, step)
				nth = nth%3 + 1
				for n, ended := start, false; !ended; n += step {
					l := newLake(t)
					when := fmt.Sprintf("refuses: %t, finished: %t, killed: %t, request %d", refuses, finished, killed, n)
					if finished {
						ok(t, first.run(t.Context(), l.weakly("prep", refuses, lives)))
					}
					count := 0
					err := second.run(t.Context(), l.weakly("one", refuses, func(request string) error {
						if removesLock(request) {
							t.Errorf("%s: %s", when, request)
						}
						if count++; count == n || killed && count > n {
							return errKilled
						}
						return nil
					}))
					ended = err == nil && count < n
					l.later()
					left := l.isSealed()
					if left {
						sealed++
					}
					plain := l.weakly("two", refuses, lives)
					plain.Weak = false
					switch err := second.run(t.Context(), plain); {
					case err == nil:
						l.whole(when, second)
					case left || !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "--weak-overwrite"):
						t.Errorf("%s: the same command without the flag: %v", when, err)
					case check(t.Context(), "lake://"+l.dir, first) != nil:
						l.whole(when, second)
					}
					if err := third.run(t.Context(), l.weakly("three", refuses, lives)); err != nil {
						t.Fatalf("%s: the next: %v", when, err)
					}
					l.whole(when, third)
				}
				if sealed < 10/step {
					t.Errorf("%d runs left a seal", sealed)
				}
			}
		}
	}
}

// TestWeakSeal: a run that carries out another's seal on such a store, and fails, removes nobody else's lock, whatever
// its flags, once it knows the seal.
func TestWeakSeal(t *testing.T) {
	for _, weak := range []bool{false, true} {
		for n, ended := 1, false; !ended; n++ {
			l := newLake(t)
			ok(t, first.run(t.Context(), l.weakly("prep", false, lives)))
			dead := false
			err := second.run(t.Context(), l.weakly("one", false, func(request string) error {
				if dead = dead || strings.Contains(request, "remove one://lake/out/_SUCCESS"); dead {
					return errKilled
				}
				return nil
			}))
			if !errors.Is(err, errKilled) || !l.isSealed() {
				t.Fatalf("error %v", err)
			}
			l.later()
			count, failed := 0, ""
			o := l.weakly("two", false, func(request string) error {
				if removesLock(request) && (weak || !strings.HasSuffix(failed, "/.lock")) {
					t.Errorf("weak: %t, request %d, %q, fails: %s", weak, n, failed, request)
				}
				if count++; count == n {
					failed = request
					return errOnce
				}
				return nil
			})
			o.Weak = weak
			err = third.run(t.Context(), o)
			ended = count < n && (err == nil || errors.Is(err, errors.ErrUnsupported) && !weak)
		}
	}
}

// TestWeakPaused: a run that pauses while another takes over its output removes nothing of the other's when it resumes,
// if requests expire, as on MinIO. Otherwise it removes the one file of the old output that it was about to remove, as
// docs/limits.md says.
func TestWeakPaused(t *testing.T) {
	for _, expires := range []bool{true, false} {
		harmed := map[string]bool{}
		for n, ended := 0, false; !ended; n++ {
			l := newLake(t)
			weakly := func(scheme string, before func(string) error) commit.Options {
				o := l.weakly(scheme, false, before)
				if expires {
					storage.Register(scheme+"://", &fencing{process{lake: l, scheme: scheme + "://", before: before}, true})
				}
				return o
			}
			ok(t, first.run(t.Context(), weakly("prep", lives)))
			l.unwatched = !expires
			two := weakly("two", lives)
			at, err := paused(second, n, func(before func(string) error) commit.Options { return weakly("one", before) }, func() {
				l.later()
				ok(t, first.run(t.Context(), two)) // with the same names
			})
			ended = at == ""
			if fenced := (*storage.FencedError)(nil); err != nil && !errors.As(err, &fenced) && !errors.As(err, new(*storage.LockedError)) {
				t.Errorf("expires: %t, paused before %s: %v", expires, at, err)
			}
			if err == nil {
				continue // it finished before or after the other
			}
			wrong := check(t.Context(), "lake://"+l.dir, first)
			if wrong == nil {
				continue
			}
			name, removes := strings.CutPrefix(at, "remove one://lake/out/")
			if !removes || expires || strings.HasPrefix(name, ".") {
				t.Errorf("expires: %t, paused before %s: %v", expires, at, wrong)
			}
			harmed[name] = true
			// The next run repairs it.
			ok(t, third.run(t.Context(), weakly("three", lives)))
			l.whole(at, third)
		}
		if expires == (len(harmed) > 0) {
			t.Errorf("expires: %t, and these were removed: %v", expires, harmed)
		}
	}
}
