package study

import (
	"fmt"
	"strings"

	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/wordstep"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/overlap"
)

// Unit is the unit of shingles.
type Unit string

// Values of --unit.
const (
	byCharacters Unit = "char"
	byWords      Unit = "word"
)

// Variation is a step that a study may vary besides spaces, stop words and stems.
type Variation string

// Values of --vary.
const (
	letterCase  Variation = "case"
	punctuation Variation = "punctuation"
	replicas    Variation = "replicas"
)

// A step applies to one half of the settings; name is its part of their names.
type step struct {
	name string
	take func(*records.StudySetting)
}

// steps returns the steps of a study. With words there are no spaces to remove.
func (c *Config) steps() (steps []step) {
	if c.Unit == byCharacters {
		steps = append(steps, step{"no_space", func(s *records.StudySetting) { s.Spaces = false }})
	}
	steps = append(steps,
		step{"no_stop_words", func(s *records.StudySetting) { s.StopWords = false }},
		step{"stem", func(s *records.StudySetting) { s.Stemmed = true }})
	for _, v := range c.Vary {
		switch v {
		case letterCase:
			steps = append(steps, step{"case", func(s *records.StudySetting) { s.Case = true }})
		case punctuation:
			steps = append(steps, step{"punctuation", func(s *records.StudySetting) { s.Punctuation = true }})
		case replicas:
			steps = append(steps, step{"replicas", func(s *records.StudySetting) { s.Replicas = true }})
		}
	}
	return steps
}

// settings returns all combinations of the steps, each with every k.
func (c *Config) settings() (all []records.StudySetting) {
	steps := c.steps()
	for combination := range 1 << len(steps) {
		for _, k := range c.K {
			s := records.StudySetting{K: k, Spaces: true, StopWords: true}
			name := []string{fmt.Sprintf("%s%d", c.Unit, k)}
			for i, step := range steps {
				if combination>>i&1 == 1 {
					step.take(&s)
					name = append(name, step.name)
				}
			}
			s.Name = strings.Join(name, "_")
			all = append(all, s)
		}
	}
	return all
}

// features returns how the features of a setting are made.
func (c *Config) features(s *records.StudySetting) (o overlap.Setting, err error) {
	kind := shingle.Char
	if c.Unit == byWords {
		kind = shingle.Word
	}
	normalize := "default"
	if s.Punctuation {
		normalize += ",keep-symbols"
	}
	if s.Case {
		normalize += ",keep-case"
	}
	if !s.Spaces {
		normalize += ",no-space"
	}
	o = overlap.Setting{Text: shingle.Spec{Shingle: shingle.Config{Kind: kind, K: s.K}, MaxBytes: int64(c.MaxDocBytes)},
		Replicas: s.Replicas}
	if o.Text.Normalize, err = textnorm.Parse(normalize); err != nil {
		return o, err
	}
	if !s.StopWords {
		o.Text.Words.Stop = c.Language
	}
	if s.Stemmed {
		o.Text.Words.Stem = c.Language
	}
	return o, nil
}

// checkLanguage returns an error unless there are stop words and stems for the language.
func (c *Config) checkLanguage() error {
	_, err := wordstep.Parse(wordstep.Steps{Stop: c.Language, Stem: c.Language}.String())
	return err
}
