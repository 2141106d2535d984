package job

import (
	"bytes"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
)

// Texts are seen in their order, and each is processed as by a single reader.
func TestSampledTexts(t *testing.T) {
	policy, err := textnorm.Parse("default")
	if err != nil {
		t.Fatal(err)
	}
	spec := shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 2}, Normalize: policy}
	rapid.Check(t, func(t *rapid.T) {
		var got []sampledText
		texts := newSampledTexts(spec, func(text *sampledText) { got = append(got, *text) })
		var want []sampledText
		reader := copies.NewReader(spec, (*shingle.Shingler).Set)
		for range rapid.IntRange(0, 40).Draw(t, "texts") {
			words := rapid.SampledFrom([]int{0, 1, 10, 1000, batchBytes}).Draw(t, "words")
			text := make([]byte, 2*words)
			for i := range text {
				text[i] = ' '
				if i%2 == 0 {
					text[i] = 'a' + byte(rapid.IntRange(0, 3).Draw(t, "letter")+i/9)%26
				}
				if i == 9 {
					break
				}
			}
			ends := rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "ends")
			texts.add(text, ends)
			if traits, set := reader.ReadSample(text, ends); len(set) > 0 {
				want = append(want, sampledText{traits, hash.Sequence(set), len(set), slices.Clone(set)})
			}
			clear(text) // the caller may overwrite it
			clear(ends)
		}
		texts.flush()
		if !slices.EqualFunc(got, want, func(a, b sampledText) bool {
			return a.traits == b.traits && a.size == b.size && slices.Equal(a.set, b.set)
		}) {
			t.Fatalf("%d texts are seen, want %d", len(got), len(want))
		}
	})
}

// Long texts are not all in progress at once, however many cores there are.
func TestSampledTextsLong(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	seen := 0
	texts := newSampledTexts(shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 2}}, func(*sampledText) { seen++ })
	long := bytes.Repeat([]byte("a b "), progressBytes/4/2+1)
	for range 4 {
		texts.add(long, nil)
		if len(texts.reading) > 1 {
			t.Errorf("%d texts of %d bytes are in progress", len(texts.reading), len(long))
		}
	}
	if texts.flush(); seen != 4 {
		t.Errorf("%d texts are seen, want 4", seen)
	}
}

// A panic in a reader of texts ends the run, not the process.
func TestSampledTextsPanic(t *testing.T) {
	defer func() {
		if p, ok := recover().(*parallel.Panic); !ok {
			t.Errorf("it panics with %v", p)
		}
	}()
	texts := newSampledTexts(shingle.Spec{}, func(*sampledText) {})
	for range cap(texts.idle) {
		<-texts.idle
		texts.idle <- &copies.Reader{} // a zero Reader panics
	}
	texts.add([]byte("some words"), nil)
	texts.flush()
}
