package shingle

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/neardup/neardup/kernels/match"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/wordstep"
)

// Spec says how a text becomes shingles. It is a value that can be stored.
type Spec struct {
	Shingle   Config
	Normalize textnorm.Policy
	// Words is what becomes of the words of the normalised text, before the steps of spaces.
	Words wordstep.Steps
	// MaxBytes is the most that a text may take, as TooLarge counts; 0 is no limit.
	MaxBytes int64
	// Numbers: texts with other numbers are apart, where Shingler.Apart is asked.
	Numbers bool
	// Rules are those that documents must meet, where Shingler.Apart is asked.
	Rules []match.Rule `json:",omitempty"`
	// Field: the text is the column of a rule itself, and the values of others are as much of the document.
	Field bool `json:",omitempty"`
}

// Normalized returns the spec with the steps of a comma-separated list, which textnorm.Parse reads and, if they name a
// language, wordstep.Parse. Steps for words alone stand for those and the default.
func (s Spec) Normalized(list string) (Spec, error) {
	var text, words []string
	for item := range strings.SplitSeq(list, ",") {
		if strings.Contains(item, ":") {
			words = append(words, item)
		} else {
			text = append(text, item)
		}
	}
	s.Words = wordstep.Steps{}
	var err error
	if words != nil {
		if s.Words, err = wordstep.Parse(strings.Join(words, ",")); err != nil {
			return s, err
		}
	}
	if text == nil {
		text = []string{"default"}
	}
	s.Normalize, err = textnorm.Parse(strings.Join(text, ","))
	return s, err
}

// Steps is the list that Normalized reads.
func (s Spec) Steps() string {
	if s.Words == (wordstep.Steps{}) {
		return s.Normalize.String()
	}
	return s.Normalize.String() + "," + s.Words.String()
}

// New returns a Shingler of the spec.
func (s Spec) New() *Shingler {
	shingler := New(s.Shingle, s.Normalize)
	shingler.most, shingler.byNumbers, shingler.rules = s.MaxBytes, s.Numbers, s.Rules
	for _, r := range s.Rules {
		var of *Shingler
		if r.Kind == match.Similar {
			spec, err := Field(r)
			if err != nil {
				panic(err) // ParseRules has refused it
			}
			of = spec.New()
		}
		shingler.fields = append(shingler.fields, of)
	}
	if s.Words != (wordstep.Steps{}) {
		shingler.words = s.Words.New(shingler.policy.KeepSpace())
	}
	return shingler
}

// ParseRules reads rules as match.Parse does, and refuses those whose values cannot be cut into shingles.
func ParseRules(all []string) ([]match.Rule, error) {
	rules, err := match.Parse(all)
	for _, r := range rules {
		if r.Kind != match.Similar {
			continue
		}
		if _, err := Field(r); err != nil {
			return nil, fmt.Errorf("column %s: %w", r.Column, err)
		}
	}
	return rules, err
}

// Field says how values of a rule that is match.Similar become shingles.
func Field(r match.Rule) (Spec, error) {
	config, err := Parse(r.Shingles)
	if err != nil {
		return Spec{}, err
	}
	return Spec{Shingle: config}.Normalized(cmp.Or(r.Steps, "default"))
}

// TooLarge reports whether a text of up to MaxBytes takes more once characters that stand for several have more
// than doubled it. It has no token.
func (s Spec) TooLarge(text []byte) bool { return tooLarge(text, s.Normalize, s.MaxBytes) }

func tooLarge(text []byte, p textnorm.Policy, most int64) bool {
	if most == 0 || int64(len(text))*textnorm.MaxGrowth <= most {
		return false
	}
	return p.Exceeds(text, max(int(most), 2*len(text)))
}

// FormatID is the package's, and of a spec that changes words what it does to them: such texts
// are other texts.
func (s Spec) FormatID() string {
	if s.Words == (wordstep.Steps{}) {
		return FormatID
	}
	return FormatID + "/" + s.Words.String()
}
