package job

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/nearest"
)

// Document returns the one document that a nearest.Lookup found, read from the file answer. The error is a *UsageError
// if there are more documents or none, or if the document was not compared; it begins with what was asked for.
func Document(ctx context.Context, p *Plan, temp, answer, asked string) (key blocks.Key, text []byte, err error) {
	found, err := storage.Shared[nearest.Found](ctx, answer)
	if err != nil {
		return 0, nil, err
	}
	defer storage.Forget(answer)
	inputs := p.Listing.Inputs
	switch {
	case found.Documents > 1:
		var places []string
		for _, key := range found.Keys {
			places = append(places, fmt.Sprintf("%s@%d", inputs.Source(key), key.Position()))
		}
		for _, row := range found.Rejected {
			places = append(places, fmt.Sprintf("%s@%d (not compared: %s)", row.Source, row.Position, row.Reason))
		}
		first := ""
		if int64(len(places)) < found.Documents {
			first = ", the first"
		}
		return 0, nil, Usage("%s: %s have this id%s: %s; name one of these places instead of the id", asked,
			records.Plural(found.Documents, "document"), first, strings.Join(places, ", "))
	case len(found.Rejected) == 1:
		row := found.Rejected[0]
		_, err := source.Text(ctx, inputs, p.Keys()(row.Source, row.Position), p.Reading())
		if unreadable := (*codec.Error)(nil); errors.As(err, &unreadable) {
			return 0, nil, Usage("%s: unreadable record: %w", asked, err)
		}
		if err != nil {
			return 0, nil, err
		}
		return 0, nil, Usage("%s: the document at byte %d of %s is not compared (%s)", asked, row.Position, row.Source,
			strings.TrimSuffix(row.Reason+": "+row.Detail, ": "))
	case len(found.Keys) == 0:
		unreadable, err := p.Unreadable(ctx, temp)
		if err != nil {
			return 0, nil, err
		}
		if unreadable != "" {
			unreadable = "; " + unreadable
		}
		closest := "; no id resembles it"
		if len(found.Closest) > 0 {
			var ids []string
			for _, c := range found.Closest {
				ids = append(ids, strconv.Quote(c.ID))
			}
			closest = "; the most similar: " + strings.Join(ids, ", ")
		}
		return 0, nil, Usage("%s: no document has this id%s; check the id, and --id if ids are in another column%s",
			asked, closest, unreadable)
	}
	read, err := source.Text(ctx, inputs, found.Keys[0], p.Reading())
	return found.Keys[0], []byte(read), err
}

// ParsePlace splits SOURCE@POSITION.
func ParsePlace(name string) (source string, position int64, ok bool) {
	i := strings.LastIndexByte(name, '@')
	if i < 0 {
		return "", 0, false
	}
	position, err := strconv.ParseInt(name[i+1:], 10, 64)
	return name[:i], position, err == nil && position >= 0 && position < blocks.MaxPosition
}

// AtPlace returns the document that SOURCE@POSITION names, with a text that is not nil; it is nil if name is no place
// of the input. The error is a *UsageError.
func AtPlace(ctx context.Context, p *Plan, name string) (key blocks.Key, text []byte, err error) {
	from, position, ok := ParsePlace(name)
	if !ok {
		return 0, nil, nil
	}
	for file, other := range p.Listing.Inputs.Names() {
		if other != from {
			continue
		}
		key = blocks.NewKey(file, position)
		err = source.Lookup(ctx, p.Listing.Inputs, []blocks.Key{key}, p.Reading(), func(doc blocks.Document) {
			text = append([]byte{}, doc.Text...)
		})
		if err != nil {
			return 0, nil, Usage("%s@%d: %w", from, position, err)
		}
		return key, text, nil
	}
	return 0, nil, nil
}
