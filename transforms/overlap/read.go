package overlap

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/transforms/gather"
)

// Document is what Count writes about a document.
type Document struct {
	Key   blocks.Key
	ID    []byte
	HasID bool
	// Text and Same are the hashes of the text and of its words, normalised as in the first setting.
	Text, Same blocks.Hash
	// Tokens and Sizes are the numbers of tokens and of features, by setting.
	Tokens, Sizes []int64
}

// documentsFn writes the documents to a file, in input order; if there are more than Params.Most, only that many.
//
//	KV<gather.Key, documents> → nothing
type documentsFn struct{ Params Params }

func (f *documentsFn) ProcessElement(ctx context.Context, _ int64, told func(*[]byte) bool) error {
	found := listed{Documents: []Document{}}
	err := gather.EachJSON(told, func(doc *Document) {
		if found.N++; found.N <= f.Params.Most {
			found.Documents = append(found.Documents, *doc)
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(found.Documents, func(a, b Document) int { return cmp.Compare(a.Key, b.Key) })
	return storage.WriteShared(ctx, f.Params.documents(), found)
}

// listed is the number of documents, and the documents; only some of them if there are too many.
type listed struct {
	N         int
	Documents []Document
}

func (p *Params) documents() string { return storage.Join(p.Dir, "documents") }

// TooManyError reports more documents than Params.Most.
type TooManyError struct{ Documents int }

func (e *TooManyError) Error() string { return fmt.Sprintf("%d documents are too many", e.Documents) }

// Documents returns the documents in input order once Count is done. The error may be a *TooManyError.
func (p *Params) Documents(ctx context.Context) ([]Document, error) {
	found, err := storage.Shared[listed](ctx, p.documents())
	if err != nil {
		return nil, err
	}
	defer storage.Forget(p.documents())
	if found.N > p.Most {
		return nil, &TooManyError{found.N}
	}
	return found.Documents, nil
}

// Rows reads what documents share with later ones, row by row.
type Rows struct {
	documents []Document
	parts     [][]part // by setting
	next      int
	// shared are the counts of the current row, by setting.
	shared [][]int32
}

// part is one file: the counts of the documents that have features in its range.
type part struct {
	file   *storage.Content
	counts *bufio.Reader
	of     []int // indexes of the documents in input order
}

// Open opens the counts; documents must be all that Documents returned. The caller must close the Rows.
func (p *Params) Open(ctx context.Context, documents []Document) (r *Rows, err error) {
	r = &Rows{documents: documents}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	places := make(map[blocks.Key]int, len(documents))
	for i, doc := range documents {
		places[doc.Key] = i
	}
	for setting := range p.Settings {
		r.parts = append(r.parts, nil)
		r.shared = append(r.shared, make([]int32, len(documents)))
		for number := range p.Ranges {
			file, err := storage.OpenFile(ctx, p.file(int64(setting*p.Ranges+number)))
			if errors.Is(err, fs.ErrNotExist) {
				continue // no document has a feature there
			}
			if err != nil {
				return nil, err
			}
			opened := part{file: file, counts: bufio.NewReaderSize(io.NewSectionReader(file, 0, file.Size()), 1<<14)}
			r.parts[setting] = append(r.parts[setting], opened)
			if err := r.parts[setting][len(r.parts[setting])-1].begin(places); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

func (p *part) begin(places map[blocks.Key]int) error {
	n, err := binary.ReadUvarint(p.counts)
	for ; n > 0 && err == nil; n-- {
		var key [8]byte
		_, err = io.ReadFull(p.counts, key[:])
		p.of = append(p.of, places[blocks.Key(binary.LittleEndian.Uint64(key[:]))])
	}
	return err
}

// Next returns the index of the next document and what it shares with later ones: shared[s][b] features under setting s
// with document b. The counts are valid until the next call. After the last document the error is io.EOF.
func (r *Rows) Next() (a int, shared [][]int32, err error) {
	a = r.next
	if a == len(r.documents) {
		return a, nil, io.EOF
	}
	r.next++
	for setting, parts := range r.parts {
		clear(r.shared[setting])
		for i := range parts {
			if err := parts[i].add(a, r.shared[setting]); err != nil {
				return a, nil, err
			}
		}
	}
	return a, r.shared, nil
}

// add adds the counts of a row if the part has its document.
func (p *part) add(a int, shared []int32) error {
	if len(p.of) == 0 || p.of[0] != a {
		return nil
	}
	p.of = p.of[1:]
	for _, b := range p.of {
		n, err := binary.ReadUvarint(p.counts)
		if err != nil {
			return err
		}
		shared[b] += int32(n)
	}
	return nil
}

// Close closes the files.
func (r *Rows) Close() (err error) {
	for _, parts := range r.parts {
		for _, part := range parts {
			err = errors.Join(err, part.file.Close())
		}
	}
	return err
}
