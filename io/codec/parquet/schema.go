package parquet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// widths has the size in bytes of each type's values; 0: it varies. A boolean takes one byte once decoded.
var widths = [...]int{
	format.Boolean: 1, format.Int32: 4, format.Int64: 8, format.Int96: 12, format.Float: 4, format.Double: 8,
	format.ByteArray: 0, format.FixedLenByteArray: 0, // the column states its width
}

// Node is a SchemaElement in the schema tree.
type Node struct {
	Name       string
	Kind       format.Type // of a column
	TypeLength int
	Repetition format.FieldRepetitionType
	Converted  deprecated.ConvertedType // -1: none
	Scale      int
	Logical    int16 // field id in the union LogicalType; 0: none
	Unit       int16 // of a time: field id in the union TimeUnit
	Unsigned   bool  // of an integer
	Children   []*Node
	Leaf       int // the column number; -1: it is a group

	parent *Node // nil: it is the root
	typed  bool  // it has a physical type, so it is a column
	count  int64 // number of children
}

const none = -1

func readElement(r *thriftReader) (e Node) {
	e.Converted, e.Leaf = none, none
	r.fields(func(id int16, kind thrift.Type) {
		switch id {
		case 1:
			e.Kind, e.typed = enum[format.Type](r, kind), true
		case 2:
			e.TypeLength = int(r.integer(kind))
		case 3:
			e.Repetition = enum[format.FieldRepetitionType](r, kind)
		case 4:
			e.Name = string(r.binary(kind))
		case 5:
			e.count = r.integer(kind)
		case 6:
			e.Converted = enum[deprecated.ConvertedType](r, kind)
		case 7:
			e.Scale = int(r.integer(kind))
		case 10:
			e.readLogical(r, kind)
		}
	})
	return e
}

// readLogical reads the union LogicalType.
func (e *Node) readLogical(r *thriftReader, kind thrift.Type) {
	if kind != thrift.STRUCT {
		r.fail(errMetadata)
		return
	}
	const decimal, time, timestamp, integer = 5, 7, 8, 10
	r.fields(func(id int16, kind thrift.Type) {
		e.Logical = id
		switch id {
		case decimal, time, timestamp, integer:
		default:
			return
		}
		r.fields(func(field int16, kind thrift.Type) {
			switch {
			case id == decimal && field == 1:
				e.Scale = int(r.integer(kind))
			case id == integer && field == 2:
				e.Unsigned = kind == thrift.FALSE
			case id != integer && field == 2 && kind == thrift.STRUCT:
				r.fields(func(unit int16, _ thrift.Type) { e.Unit = unit })
			}
		})
	})
}

// Leaf is a column.
type Leaf struct {
	*Node
	MaxRep, MaxDef int // the maximum levels
	Width          int // bytes of a value; 0: it varies
}

// Path returns the column's path, joined by dots. It is not stored, because the paths of many deep columns would take
// much memory.
func (l *Leaf) Path() string {
	var path []string
	for n := l.Node; n.parent != nil; n = n.parent {
		path = append(path, n.Name)
	}
	slices.Reverse(path)
	return strings.Join(path, ".")
}

// maxDepth keeps levels within a byte.
const maxDepth = 100

// plant builds the schema tree from its elements, which are in depth-first order.
func (f *File) plant(elements []Node) (err error) {
	if len(elements) == 0 {
		return errShort
	}
	rest := elements
	rest[0].Repetition = format.Required
	f.Leaves = make([]Leaf, 0, len(elements))
	f.Root, err = f.grow(&rest, nil, 0, 0, 0)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return errors.New("it has elements that belong to no group" + fetch)
	case f.Root.Leaf != none:
		return errors.New("it has no columns" + fetch)
	}
	return nil
}

func (f *File) grow(rest *[]Node, parent *Node, depth, rep, def int) (*Node, error) {
	if len(*rest) == 0 {
		return nil, errShort
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d levels deep", maxDepth)
	}
	n := &(*rest)[0]
	n.parent = parent
	*rest = (*rest)[1:]
	switch n.Repetition {
	case format.Required:
	case format.Optional:
		def++
	case format.Repeated:
		rep, def = rep+1, def+1
	default:
		return nil, fmt.Errorf("%q has the unknown repetition type %d"+fetch, n.Name, n.Repetition)
	}
	if n.typed {
		n.Leaf = len(f.Leaves)
		l := Leaf{Node: n, MaxRep: rep, MaxDef: def}
		if n.Kind < 0 || n.Kind > format.FixedLenByteArray || n.count != 0 ||
			n.Kind == format.FixedLenByteArray && (n.TypeLength <= 0 || n.TypeLength > 1<<20) {
			return nil, fmt.Errorf("column %q has the unknown type %d of length %d"+fetch, l.Path(), n.Kind, n.TypeLength)
		}
		if l.Width = widths[n.Kind]; n.Kind == format.FixedLenByteArray {
			l.Width = n.TypeLength
		}
		f.Leaves = append(f.Leaves, l)
		return n, nil
	}
	if n.count < 0 || n.count > int64(len(*rest)) {
		return nil, errShort
	}
	for range n.count {
		child, err := f.grow(rest, n, depth+1, rep, def)
		if err != nil {
			return nil, err
		}
		n.Children = append(n.Children, child)
	}
	return n, nil
}
