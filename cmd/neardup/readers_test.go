package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The commands that explain a finished output print the same for an output and input in a store as for those on a disk,
// and write the same files to the store.
func TestReadersOfStores(t *testing.T) {
	objects := inputs(t, false)
	objects["truth.csv"] = "id_a,id_b\n0-0,0-1\n0-2,nobody\n"
	local := t.TempDir()
	for name, content := range objects {
		path := filepath.Join(local, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	said := func(p *process, ends func(p *process)) string {
		t.Helper()
		ends(p)
		return p.stdout.String()
	}
	here := func(args ...string) string {
		return said(prepare(t, "neardup", args...), func(p *process) {
			if stderr, status := p.start().ended(); status.ExitStatus() != 0 {
				t.Fatalf("%v: %s", args, stderr)
			}
		})
	}
	commands := [][]string{
		{"show", "ROOT/out", "0-0"},
		{"eval", "ROOT/out", "--truth=ROOT/truth.csv", "--texts=2"},
		{"eval", "ROOT/out", "--sample=50", "--texts=2", "--json"},
		{"export", "ROOT/out", "--format=csv", "--table=removed", "-o", "-"},
		{"export", "ROOT/out", "--format=jsonl", "-o", "ROOT/tables"},
		{"report", "ROOT/out", "-o", "ROOT/page.html"},
	}
	in := func(root string, args []string) (all []string) {
		for _, arg := range args {
			all = append(all, strings.ReplaceAll(arg, "ROOT", root))
		}
		return all
	}
	here("dedup", local+"/in", "-o", local+"/out", "--format=jsonl", "--threshold=.5", "--quiet")
	var want []string
	for _, args := range commands {
		want = append(want, here(in(local, args)...))
	}
	if !strings.Contains(want[0], "in a cluster") || !strings.Contains(want[1], "missed") || !strings.Contains(want[2], `"sample": 50`) {
		t.Fatalf("that tests little:\n%s", strings.Join(want, "\n"))
	}
	for scheme := range clouds {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			c := clouds[scheme](t, objects)
			c.ends(c.dedup("--threshold=.5"), 0)
			for i, args := range commands {
				p := c.command(in(c.scheme+"b", args)...)
				c.ends(p, 0)
				if got := p.stdout.String(); got != want[i] {
					t.Errorf("%v says\n%s\nwant\n%s", args, got, want[i])
				}
			}
			var tables []string
			for name, content := range c.all() {
				if _, below := strings.CutPrefix(name, "tables/"); below {
					tables = append(tables, name)
					if on, err := os.ReadFile(filepath.Join(local, name)); err != nil || string(on) != content {
						t.Errorf("%s is not as on a disk: %v", name, err)
					}
				}
			}
			on, err := filepath.Glob(filepath.Join(local, "tables", "*"))
			if err != nil || len(on) == 0 || len(tables) != len(on) {
				t.Errorf("%v: tables are %q, on a disk %q", err, slices.Sorted(slices.Values(tables)), on)
			}
			page, disk := c.all()["page.html"], filepath.Join(local, "page.html")
			same, err := os.ReadFile(disk)
			if err != nil {
				t.Fatal(err)
			}
			title := regexp.MustCompile(`<h1>.*</h1>`)
			if want := title.FindString(string(same)); want == "" || title.FindString(page) != want || !strings.HasSuffix(strings.TrimSpace(page), "</html>") {
				t.Errorf("the page has %d bytes, on a disk %d", len(page), len(same))
			}
		})
	}
}
