package parquetfile

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/parquet"
)

// none stands for a column, or a number, that does not exist.
const none = -1

// find returns the number of the column called name, or none: a top-level name that may contain dots, or else a path. A
// path may leave out the inner nodes of lists: tags stands for tags.list.element.
func find(root *parquet.Node, name string) (int, error) {
	n, err := findNode(root, name)
	if n == nil || err != nil {
		return none, err
	}
	if n = innermost(n); n.Leaf == none {
		return none, fmt.Errorf("column %q is a group; name one of its columns: %s", name,
			codec.Listed(appendNames(nil, n, name)))
	}
	return n.Leaf, nil
}

// namesOf returns the names of the columns, by which find finds them.
func namesOf(root *parquet.Node) (names []string) {
	for _, c := range root.Children {
		names = appendNames(names, c, c.Name)
	}
	return names
}

// appendNames appends the names of the columns of n, whose own name is name.
func appendNames(names []string, n *parquet.Node, name string) []string {
	if n = innermost(n); n.Leaf != none {
		return append(names, name)
	}
	for _, c := range n.Children {
		names = appendNames(names, c, name+"."+c.Name)
	}
	return names
}

// Types that say more than the physical type.
var (
	logicalKinds = map[int16]string{
		logicalString: "string", logicalDecimal: "decimal", logicalDate: "date", logicalTime: "time",
		logicalTimestamp: "timestamp", logicalUUID: "uuid",
	}
	convertedKinds = map[deprecated.ConvertedType]string{
		deprecated.UTF8: "string", deprecated.Decimal: "decimal", deprecated.Date: "date",
		deprecated.TimeMillis: "time", deprecated.TimeMicros: "time",
		deprecated.TimestampMillis: "timestamp", deprecated.TimestampMicros: "timestamp",
	}
)

// columnsOf returns the top-level columns with their types: the physical ones, except for strings, decimals, dates,
// times, UUIDs, lists and groups.
func columnsOf(root *parquet.Node) (columns []codec.Column) {
	for _, c := range root.Children {
		kind := "group"
		switch {
		case inside(c) != nil || c.Repetition == format.Repeated:
			kind = "list"
		case c.Leaf == none:
		default:
			kind = cmp.Or(logicalKinds[c.Logical], convertedKinds[c.Converted], strings.ToLower(c.Kind.String()))
		}
		columns = append(columns, codec.Column{Name: c.Name, Type: kind})
	}
	return columns
}

// findNode returns the node below n at a dotted path, or nil.
func findNode(n *parquet.Node, path string) (found *parquet.Node, err error) {
	for _, c := range n.Children {
		if c.Name != path {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("two columns are called %q; rename one", path)
		}
		found = c
	}
	if found != nil {
		return found, nil
	}
	for _, c := range n.Children {
		if rest, ok := strings.CutPrefix(path, c.Name+"."); ok {
			if found, err := findNode(c, rest); found != nil || err != nil {
				return found, err
			}
		}
	}
	if inner := inside(n); inner != nil {
		return findNode(inner, path)
	}
	return nil, nil
}

// innermost returns the innermost element of nested lists, or n if it is not a list.
func innermost(n *parquet.Node) *parquet.Node {
	for inner := inside(n); inner != nil; inner = inside(n) {
		n = inner
	}
	return n
}

// inside returns the element of a list, or nil if n is not a list. Old writers have lists of two levels, whose repeated
// node is the element.
func inside(n *parquet.Node) *parquet.Node {
	if n.Logical != logicalList && n.Converted != deprecated.List || len(n.Children) != 1 {
		return nil
	}
	middle := n.Children[0]
	if middle.Leaf == none && len(middle.Children) == 1 && middle.Name != "array" && middle.Name != n.Name+"_tuple" {
		return middle.Children[0]
	}
	return middle
}
