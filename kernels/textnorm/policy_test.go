package textnorm

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ in, canonical string }{
		{"none", "none"},
		{"default", "default"},
		{"nfkc", "nfkc"},
		{"lower,nfkc", "nfkc,lower"},
		{" lower , nfkc ", "nfkc,lower"},
		{"lower,lower", "lower"},
		{"default,lower", "default"},
		{"digits-zero,default", "default,digits-zero"},
		{"collapse-space,strip-accents,default", "default,strip-accents,collapse-space"},
		{"no-space,lower", "lower,no-space"},
		{"fold-han", "default,fold-han"},
		{"nfkc,fold-han", "nfkc,fold-han"},
		{"fold-han,keep-symbols", "default,fold-han,keep-symbols"},
		{"fold-han,keep-case,lower", "default,fold-han,keep-case"},
		{"default,letters-only", "default,letters-only"},
		{"letters-only,lower,nfkc", "nfkc,lower,letters-only"},
		{"keep-symbols", "default,keep-symbols"},
		{"keep-symbols,default", "default,keep-symbols"},
		{"keep-symbols,nfkc", "nfkc,keep-symbols"},
		{"letters-only,digits-zero", "letters-only"},
		{"keep-case", "default,keep-case"},
		{"keep-case,keep-symbols", "default,keep-symbols,keep-case"},
		{"letters-only,default,keep-case", "default,keep-case,letters-only"},
		{"nfkc,lower,keep-case", "nfkc"},
		{"lower,keep-case", "default,keep-case"},
		{"keep-symbols,lower,keep-case", "default,keep-symbols,keep-case"},
		{"no-space,default,keep-case", "default,keep-case,no-space"},
		{"strip-markup", "strip-markup,default"},
		{"keep-symbols,strip-markup,keep-case", "strip-markup,default,keep-symbols,keep-case"},
		{"lower,strip-markup", "strip-markup,lower"},
	} {
		p, err := Parse(c.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.in, err)
			continue
		}
		if got := p.String(); got != c.canonical {
			t.Errorf("Parse(%q) = %s, want %s", c.in, got, c.canonical)
		}
	}
	if (Policy{}).String() != "none" {
		t.Errorf("the zero policy is %s, want none", Policy{})
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ in, names string }{
		{"", `""`},
		{"lower,", `""`},
		{"Lower", `"Lower"`},
		{"lower,punctuation", `"punctuation"`},
		{"lower,none", `"none"`},
		{"collapse-space,no-space", "conflict; drop one"},
		{"letters-only,keep-symbols", "conflict; drop one"},
	} {
		p, err := Parse(c.in)
		if err == nil {
			t.Errorf("Parse(%q) = %s, want an error", c.in, p)
			continue
		}
		if !strings.Contains(err.Error(), c.names) {
			t.Errorf("Parse(%q): %v; want %s in it", c.in, err, c.names)
		}
	}
	_, err := Parse("stemming")
	for _, valid := range []string{"none", "default", "nfkc", "lower", "strip-accents", "fold-han", "keep-symbols", "keep-case", "letters-only", "digits-zero", "collapse-space", "no-space"} {
		if !strings.Contains(err.Error(), valid) {
			t.Errorf("%v: does not name %s", err, valid)
		}
	}
}

// policies draws any policy that Parse can return.
func policies() *rapid.Generator[Policy] {
	return rapid.Custom(func(t *rapid.T) Policy {
		names := rapid.SliceOfNDistinct(rapid.SampledFrom(items[:len(items)-1]), 0, -1, func(i struct {
			name  string
			steps step
		}) string {
			return i.name
		}).Draw(t, "items")
		list := make([]string, len(names))
		for i, item := range names {
			list[i] = item.name
		}
		if rapid.Bool().Draw(t, "no-space") {
			list = append(list, "no-space")
			for i, name := range list {
				if name == "collapse-space" {
					list[i] = "lower"
				}
			}
		}
		if slices.Contains(list, "letters-only") {
			list = slices.DeleteFunc(list, func(name string) bool { return name == "keep-symbols" })
		}
		if len(list) == 0 {
			return Policy{}
		}
		p, err := Parse(strings.Join(list, ","))
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

func TestStringReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policies().Draw(t, "policy")
		back, err := Parse(p.String())
		if err != nil {
			t.Fatal(err)
		}
		if back != p {
			t.Fatalf("Parse(%q) = %s", p, back)
		}
		stored, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var read Policy
		if err := json.Unmarshal(stored, &read); err != nil || read != p {
			t.Fatalf("%s reads back as %s, %v", stored, read, err)
		}
	})
}
