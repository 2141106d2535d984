package dedup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/source"
)

// Floor reads, decodes and shingles the input and does nothing with it, on so many goroutines as
// there are workers. It is the least that any way to compare documents costs, which the whole job
// is measured against. It returns the number of documents and shingles.
func (j *Job) Floor(ctx context.Context, workers int) (documents, shingles int64, err error) {
	request := j.config.request(j.asked)
	reading := request.Reading("")
	listing, err := source.Plan(ctx, j.config.Inputs, reading)
	if err != nil {
		return 0, 0, err
	}
	text := request.Texts
	var next atomic.Int64 // split
	var mu sync.Mutex
	var group parallel.Group
	for range workers {
		group.Go(func() {
			shingler := text.New()
			var found []uint64
			for number := int(next.Add(1)) - 1; number < listing.Inputs.Splits.Len(); number = int(next.Add(1)) - 1 {
				var docs, count int64
				failed := eachText(ctx, listing, number, reading, func(text []byte) {
					found = shingler.Shingles(found[:0], text)
					docs++
					count += int64(len(found))
				})
				mu.Lock()
				documents, shingles, err = documents+docs, shingles+count, errors.Join(err, failed)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return documents, shingles, err
}

// eachText calls do with the text of each readable document of a split.
func eachText(ctx context.Context, listing *source.Listing, number int, o source.Options, do func(text []byte)) error {
	_, err := source.Records(ctx, listing.Inputs, []blocks.Span{listing.Inputs.Splits.At(number)}, o, func(record *reading.Record) error {
		switch {
		case record.Err != nil:
			return fmt.Errorf("a record is unreadable: %w", record.Err)
		case !record.Long:
			do(record.Doc.Text)
		}
		return nil
	})
	return err
}
