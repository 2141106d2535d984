package parquetfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/neardup/neardup/io/codec"
)

// widthOf is the number of bytes of a value; 0: that varies. A boolean takes one byte once it is decoded.
func widthOf(kind format.Type, typeLength int) int {
	switch kind {
	case format.Boolean:
		return 1
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	case format.Int96:
		return 12
	case format.FixedLenByteArray:
		return typeLength
	default:
		return 0
	}
}

// element is a SchemaElement.
type element struct {
	name       string
	kind       format.Type
	typed      bool // it has a physical type: it is a column
	typeLength int
	repetition format.FieldRepetitionType
	children   int64
	converted  deprecated.ConvertedType // none: none
	scale      int
	logical    int16 // field of the union LogicalType; 0: none
	unit       int16 // of a time: field of the union TimeUnit
	bits       int   // of an integer
	unsigned   bool
}

const none = -1

func readElement(r *thriftReader) (e element) {
	e.converted = none
	r.fields(func(id int16, kind thrift.Type) {
		switch id {
		case 1:
			e.kind, e.typed = enum[format.Type](r, kind), true
		case 2:
			e.typeLength = int(r.integer(kind))
		case 3:
			e.repetition = enum[format.FieldRepetitionType](r, kind)
		case 4:
			e.name = string(r.binary(kind))
		case 5:
			e.children = r.integer(kind)
		case 6:
			e.converted = enum[deprecated.ConvertedType](r, kind)
		case 7:
			e.scale = int(r.integer(kind))
		case 10:
			e.readLogical(r, kind)
		}
	})
	return e
}

// readLogical reads the union LogicalType.
func (e *element) readLogical(r *thriftReader, kind thrift.Type) {
	if kind != thrift.STRUCT {
		r.fail(errMetadata)
		return
	}
	r.fields(func(id int16, kind thrift.Type) {
		e.logical = id
		switch id {
		case logicalDecimal, logicalTime, logicalTimestamp, logicalInteger:
		default:
			return
		}
		r.fields(func(field int16, kind thrift.Type) {
			switch {
			case id == logicalDecimal && field == 1:
				e.scale = int(r.integer(kind))
			case id == logicalInteger && field == 1:
				e.bits = int(r.integer(kind))
			case id == logicalInteger && field == 2:
				e.unsigned = kind == thrift.FALSE
			case id != logicalInteger && field == 2 && kind == thrift.STRUCT:
				r.fields(func(unit int16, _ thrift.Type) { e.unit = unit })
			}
		})
	})
}

// node is an element of the schema in its tree.
type node struct {
	*element
	parent   *node // nil: it is the root
	children []*node
	leaf     int // index of the column; none: it is a group
}

// leaf is a column.
type leaf struct {
	element
	node           *node
	maxRep, maxDef int
	width          int // bytes of a value; 0: it varies
	render         rendering
}

// name is its path, with dots. Kept, those of many columns deep in the schema would take much memory.
func (l *leaf) name() string {
	var path []string
	for n := l.node; n.parent != nil; n = n.parent {
		path = append(path, n.name)
	}
	slices.Reverse(path)
	return strings.Join(path, ".")
}

type schema struct {
	root   *node
	leaves []leaf
}

// maxDepth keeps levels within a byte.
const maxDepth = 100

// newSchema builds the tree of elements, which stand in it depth first.
func newSchema(elements []element) (s schema, err error) {
	if len(elements) == 0 {
		return s, errShort
	}
	rest := elements
	rest[0].repetition = format.Required
	s.leaves = make([]leaf, 0, len(elements))
	s.root, err = s.grow(&rest, nil, 0, 0, 0)
	switch {
	case err != nil:
		return s, err
	case len(rest) > 0:
		return s, errors.New("it has elements that belong to no group")
	case s.root.leaf != none:
		return s, errors.New("it has no columns")
	}
	return s, nil
}

func (s *schema) grow(rest *[]element, parent *node, depth, rep, def int) (*node, error) {
	if len(*rest) == 0 {
		return nil, errShort
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	e := &(*rest)[0]
	*rest = (*rest)[1:]
	switch e.repetition {
	case format.Required:
	case format.Optional:
		def++
	case format.Repeated:
		rep, def = rep+1, def+1
	default:
		return nil, fmt.Errorf("%q has the unknown repetition type %d", e.name, e.repetition)
	}
	n := &node{element: e, parent: parent, leaf: none}
	if e.typed {
		n.leaf = len(s.leaves)
		l := leaf{element: *e, node: n, maxRep: rep, maxDef: def, width: widthOf(e.kind, e.typeLength),
			render: renderingOf(e)}
		if e.kind < 0 || e.kind > format.FixedLenByteArray || e.children != 0 ||
			e.kind == format.FixedLenByteArray && (e.typeLength <= 0 || e.typeLength > 1<<20) {
			return nil, fmt.Errorf("column %q has the unknown type %d of length %d", l.name(), e.kind, e.typeLength)
		}
		s.leaves = append(s.leaves, l)
		return n, nil
	}
	if e.children < 0 || e.children > int64(len(*rest)) {
		return nil, errShort
	}
	for range e.children {
		child, err := s.grow(rest, n, depth+1, rep, def)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, child)
	}
	return n, nil
}

// find returns the number of the column called name, none if there is none: a top-level name that has dots in it, else
// a path. Lists need not be spelled out in a path: tags is tags.list.element.
func (s *schema) find(name string) (int, error) {
	n, err := find(s.root, name)
	if n == nil || err != nil {
		return none, err
	}
	for {
		inner := inside(n)
		if inner == nil {
			break
		}
		n = inner
	}
	if n.leaf == none {
		return none, fmt.Errorf("column %q is a group; name one of %s", name, codec.Listed(n.appendNames(nil, name)))
	}
	return n.leaf, nil
}

// names are those of the columns, by which find finds them.
func (s *schema) names() (names []string) {
	for _, c := range s.root.children {
		names = c.appendNames(names, c.name)
	}
	return names
}

// appendNames appends the names of the columns of n, whose own is name.
func (n *node) appendNames(names []string, name string) []string {
	for inner := inside(n); inner != nil; inner = inside(n) {
		n = inner
	}
	if n.leaf != none {
		return append(names, name)
	}
	for _, c := range n.children {
		names = c.appendNames(names, name+"."+c.name)
	}
	return names
}

// Types that say more than the physical ones.
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

// columns are the top-level columns with their types: physical ones, but for strings, times, lists and groups.
func (s *schema) columns() (columns []codec.Column) {
	for _, c := range s.root.children {
		kind := "group"
		switch {
		case inside(c) != nil || c.repetition == format.Repeated:
			kind = "list"
		case c.leaf == none:
		default:
			kind = cmp.Or(logicalKinds[c.logical], convertedKinds[c.converted], strings.ToLower(c.kind.String()))
		}
		columns = append(columns, codec.Column{Name: c.name, Type: kind})
	}
	return columns
}

// find returns the node below n at a dotted path, or nil.
func find(n *node, path string) (found *node, err error) {
	for _, c := range n.children {
		if c.name != path {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("two columns are called %q", path)
		}
		found = c
	}
	if found != nil {
		return found, nil
	}
	for _, c := range n.children {
		if rest, ok := strings.CutPrefix(path, c.name+"."); ok {
			if found, err := find(c, rest); found != nil || err != nil {
				return found, err
			}
		}
	}
	if inner := inside(n); inner != nil {
		return find(inner, path)
	}
	return nil, nil
}

// inside returns the element of a list; nil if n is none. Old writers have lists of two levels, whose
// repeated node is the element.
func inside(n *node) *node {
	if n.logical != logicalList && n.converted != deprecated.List || len(n.children) != 1 {
		return nil
	}
	middle := n.children[0]
	if middle.leaf == none && len(middle.children) == 1 && middle.name != "array" && middle.name != n.name+"_tuple" {
		return middle.children[0]
	}
	return middle
}
