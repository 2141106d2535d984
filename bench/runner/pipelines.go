package main

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func init() {
	register.Function2x0(splits)
	register.DoFn2x0[int64, func(int64, int64)](&numbers{})
	register.DoFn2x0[int64, func(int64, []byte)](&blocks{})
	register.Function3x0(double)
	register.Function3x0(pass)
	register.Function3x0(sum)
	register.Function3x0(measure)
	register.Function2x2(step)
	register.Emitter1[int64]()
	register.Emitter2[int64, int64]()
	register.Emitter2[int64, []byte]()
	register.Iter1[int64]()
	register.Iter1[[]byte]()
}

// sources is the number of splits of a source, enough for any number of workers.
const sources = 64

func splits(_ []byte, emit func(int64)) {
	for i := range int64(sources) {
		emit(i)
	}
}

func source(s beam.Scope) beam.PCollection {
	return beam.Reshuffle(s, beam.ParDo(s, splits, beam.Impulse(s)))
}

// perKey is the number of values per key.
const perKey = 8

// numbers emits small elements: KV<int64, int64>.
type numbers struct{ N int64 }

// ProcessElement emits the elements of a split.
func (f *numbers) ProcessElement(split int64, emit func(int64, int64)) {
	for i := split; i < f.N; i += sources {
		emit(int64(uint64(i/perKey)*0x9e3779b97f4a7c15), i)
	}
}

func double(k, v int64, emit func(int64, int64)) { emit(k, 2*v) }

func sum(_ int64, values func(*int64) bool, emit func(int64)) {
	var v, total int64
	for values(&v) {
		total += v
	}
	emit(total)
}

// small is source → ParDo → GBK → ParDo over n small elements.
func small(s beam.Scope, n int64) {
	in := beam.ParDo(s, &numbers{n}, source(s))
	beam.ParDo(s, sum, beam.GroupByKey(s, beam.ParDo(s, double, in)))
}

const (
	documentSize = 320
	blockSize    = 100 << 10
	blockKeys    = 512
)

// blocks emits documents in blocks.
type blocks struct{ Documents int64 }

// ProcessElement emits the blocks of a split. They consist of words of a vocabulary, so they compress like text.
func (f *blocks) ProcessElement(split int64, emit func(int64, []byte)) {
	n := f.Documents * documentSize / blockSize
	state := uint64(split)*0x9e3779b97f4a7c15 + 1
	for i := split; i < n; i += sources {
		block := make([]byte, blockSize)
		for at := 0; at < len(block); {
			state ^= state << 13
			state ^= state >> 7
			state ^= state << 17
			word := vocabulary[state%uint64(len(vocabulary))]
			at += copy(block[at:], word)
		}
		emit(i%blockKeys, block)
	}
}

// vocabulary has 4,096 words of 2 to 9 letters, each with a space after it.
var vocabulary = func() (words [4096][]byte) {
	state := uint64(1)
	for i := range words {
		for range 2 + i%8 {
			state = state*6364136223846793005 + 1442695040888963407
			words[i] = append(words[i], 'a'+byte(state>>33%26))
		}
		words[i] = append(words[i], ' ')
	}
	return words
}()

func pass(k int64, v []byte, emit func(int64, []byte)) { emit(k, v) }

func measure(_ int64, values func(*[]byte) bool, emit func(int64)) {
	var v []byte
	var total int64
	for values(&v) {
		total += int64(len(v))
	}
	emit(total)
}

// large is the same as small, but over documents in blocks.
func large(s beam.Scope, documents int64) {
	in := beam.ParDo(s, &blocks{documents}, source(s))
	beam.ParDo(s, measure, beam.GroupByKey(s, beam.ParDo(s, pass, in)))
}

func step(k, v int64) (int64, int64) { return k, v }

// chainLength is the number of stages in an empty pipeline.
const chainLength = 20

// chain is a pipeline of stages with nothing to do.
func chain(s beam.Scope, _ int64) {
	p := beam.ParDo(s, &numbers{0}, beam.ParDo(s, splits, beam.Impulse(s)))
	for range chainLength - 1 {
		p = beam.ParDo(s, step, beam.Reshuffle(s, p))
	}
}
