package shingle

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/neardup/neardup/kernels/match"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/wordstep"
)

// Spec defines how a text becomes shingles. It is a value that can be stored.
type Spec struct {
	Shingle   Config
	Normalize textnorm.Policy
	// Words are the steps that change words of the normalised text. They come before the steps for spaces.
	Words wordstep.Steps
	// MaxBytes is the maximum size of a text, as TooLarge counts; 0 means no limit.
	MaxBytes int64
	// Numbers keeps texts with different numbers apart, if Shingler.Apart is called.
	Numbers bool
	// Rules are the rules that documents must satisfy, if Shingler.Apart is called.
	Rules []match.Rule `json:",omitempty"`
	// Field says that the text is itself the column of a rule, and that the values of other columns are equally part of
	// the document.
	Field bool `json:",omitempty"`
}

// Normalized returns the spec with the steps of a comma-separated list, which are those of textnorm.Parse and, if they
// name a language, of wordstep.Parse. If there are only steps for words, the default steps are added.
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
	if s.Normalize, err = textnorm.Parse(strings.Join(text, ",")); err != nil {
		err = fmt.Errorf("%w, no-stop-words:LANGUAGE and stem:LANGUAGE", err)
	}
	return s, err
}

// Steps returns the list that Normalized parses.
func (s Spec) Steps() string {
	if s.Words == (wordstep.Steps{}) {
		return s.Normalize.String()
	}
	return s.Normalize.String() + "," + s.Words.String()
}

// OfWords returns the spec of the single words of normalised texts, whatever shingles are made of.
func (s Spec) OfWords() Spec {
	return Spec{Shingle: Config{Kind: Word, K: 1}, Normalize: s.Normalize, MaxBytes: s.MaxBytes}
}

// InOnePart returns the spec by which no text is kept apart from others.
func (s Spec) InOnePart() Spec {
	s.Numbers, s.Rules = false, nil
	return s
}

// New returns a Shingler for the spec.
func (s Spec) New() *Shingler {
	shingler := New(s.Shingle, s.Normalize)
	shingler.most, shingler.byNumbers, shingler.rules = s.MaxBytes, s.Numbers, s.Rules
	for _, r := range s.Rules {
		var of *Shingler
		if r.Kind == match.Similar {
			spec, err := Field(r)
			if err != nil {
				panic(err) // ParseRules rejects it
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

// ParseRules parses rules as match.Parse does, and rejects those whose values cannot be cut into shingles.
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

// Field returns the spec by which values of a match.Similar rule become shingles.
func Field(r match.Rule) (Spec, error) {
	config, err := Parse(r.Shingles)
	if err != nil {
		return Spec{}, err
	}
	return Spec{Shingle: config}.Normalized(cmp.Or(r.Steps, "default"))
}

// TooLarge reports whether a text of up to MaxBytes exceeds that when normalised, because characters that expand have
// more than doubled it. Such a text has no tokens.
func (s Spec) TooLarge(text []byte) bool { return tooLarge(text, s.Normalize, s.MaxBytes) }

func tooLarge(text []byte, p textnorm.Policy, most int64) bool {
	if most == 0 || int64(len(text))*textnorm.MaxGrowth <= most {
		return false
	}
	return p.Exceeds(text, max(int(most), 2*len(text)))
}

// FormatID returns the package's FormatID, plus the steps for words if the spec has any, since these give different
// texts.
func (s Spec) FormatID() string {
	if s.Words == (wordstep.Steps{}) {
		return FormatID
	}
	return FormatID + "/" + s.Words.String()
}
