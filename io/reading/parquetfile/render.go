package parquetfile

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/parquet"
)

// Field ids of the union LogicalType.
const (
	logicalString    = 1
	logicalList      = 3
	logicalEnum      = 4
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTime      = 7
	logicalTimestamp = 8
	logicalInteger   = 10
	logicalNull      = 11
	logicalJSON      = 12
	logicalBSON      = 13
	logicalUUID      = 14
	logicalFloat16   = 15
)

// rendering says how the values of a column become text.
type rendering struct {
	// foreign describes values that have no text; "" for strings, numbers, and times, which have one.
	foreign string
	// kind is the kind of value that they are ordered as.
	kind codec.Kind
	// append appends a value, which has the width of its physical type.
	append  func(dst, value []byte) []byte
	longest int // maximum bytes of a value; 0: no limit
}

// unknown describes values of a logical type that is newer than this code.
const unknown = "values of an unknown type"

// maxDecimal is the maximum bytes of a decimal; the widest types have 32.
const maxDecimal = 64

func foreign(what string) rendering { return rendering{foreign: what} }

func number(append func(dst, value []byte) []byte) rendering {
	return rendering{kind: codec.NumberValue, append: append}
}

func text(append func(dst, value []byte) []byte) rendering {
	return rendering{kind: codec.StringValue, append: append}
}

func asTheyStand(dst, value []byte) []byte { return append(dst, value...) }

// renderingOf returns the rendering for the logical type, or else for the converted type, or else for the physical
// type. It ignores a logical type that does not fit the physical one.
func renderingOf(e *parquet.Node) rendering {
	wide := e.Kind == format.Int64
	integers := wide || e.Kind == format.Int32
	bytes := e.Kind == format.ByteArray
	fixed := e.Kind == format.FixedLenByteArray
	switch {
	case e.Logical == logicalNull:
		return text(asTheyStand) // all values are null
	case e.Logical == logicalString, e.Logical == logicalEnum, e.Logical == logicalJSON:
		if bytes || fixed {
			return text(asTheyStand)
		}
	case (e.Logical == logicalDecimal || e.Logical == 0 && e.Converted == deprecated.Decimal) &&
		(integers || bytes || fixed):
		return decimals(e)
	case (e.Logical == logicalDate || e.Logical == 0 && e.Converted == deprecated.Date) && e.Kind == format.Int32:
		return text(func(dst, v []byte) []byte { return appendDate(dst, integerOf(v)) })
	case e.Logical == logicalTime && integers:
		unit := perSecond(e.Unit)
		return text(func(dst, v []byte) []byte { return appendTime(dst, integerOf(v), unit) })
	case e.Logical == logicalTimestamp && wide:
		return timestamps(perSecond(e.Unit))
	case e.Logical == logicalInteger && integers && e.Unsigned:
		return number(appendUnsigned)
	case e.Logical == logicalUUID && fixed && e.TypeLength == 16:
		return text(appendUUID)
	case e.Logical == logicalFloat16 && fixed && e.TypeLength == 2:
		return number(func(dst, v []byte) []byte {
			return strconv.AppendFloat(dst, halfFloat(binary.LittleEndian.Uint16(v)), 'g', -1, 32)
		})
	case e.Logical == logicalBSON || e.Converted == deprecated.Bson:
		return foreign("BSON")
	case e.Logical != 0 && e.Logical != logicalInteger && e.Logical != logicalDecimal:
		return foreign(unknown)
	case e.Logical != 0:
	case e.Converted == deprecated.TimeMillis && e.Kind == format.Int32:
		return text(func(dst, v []byte) []byte { return appendTime(dst, integerOf(v), 1e3) })
	case e.Converted == deprecated.TimeMicros && wide:
		return text(func(dst, v []byte) []byte { return appendTime(dst, integerOf(v), 1e6) })
	case e.Converted == deprecated.TimestampMillis && wide:
		return timestamps(1e3)
	case e.Converted == deprecated.TimestampMicros && wide:
		return timestamps(1e6)
	case e.Converted >= deprecated.Uint8 && e.Converted <= deprecated.Uint64 && integers:
		return number(appendUnsigned)
	case e.Converted == deprecated.Interval:
		return foreign("intervals")
	}
	switch e.Kind {
	case format.Int32, format.Int64:
		return number(func(dst, v []byte) []byte { return strconv.AppendInt(dst, integerOf(v), 10) })
	case format.Int96:
		return text(appendInt96)
	case format.Float:
		return number(func(dst, v []byte) []byte {
			return strconv.AppendFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(v))), 'g', -1, 32)
		})
	case format.Double:
		return number(func(dst, v []byte) []byte {
			return strconv.AppendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(v)), 'g', -1, 64)
		})
	case format.ByteArray, format.FixedLenByteArray:
		return text(asTheyStand)
	default:
		return foreign("booleans")
	}
}

// integerOf returns the value of an INT32 or INT64.
func integerOf(v []byte) int64 {
	if len(v) == 4 {
		return int64(int32(binary.LittleEndian.Uint32(v)))
	}
	return int64(binary.LittleEndian.Uint64(v))
}

func appendUnsigned(dst, v []byte) []byte {
	if len(v) == 4 {
		return strconv.AppendUint(dst, uint64(binary.LittleEndian.Uint32(v)), 10)
	}
	return strconv.AppendUint(dst, binary.LittleEndian.Uint64(v), 10)
}

// decimals renders integers divided by 10^scale. In arrays, the integers are big-endian.
func decimals(e *parquet.Node) rendering {
	scale := e.Scale
	if scale < 0 || scale > 1<<10 {
		return foreign(unknown)
	}
	if e.Kind == format.Int32 || e.Kind == format.Int64 {
		return number(func(dst, v []byte) []byte {
			return appendScaled(dst, strconv.AppendInt(nil, integerOf(v), 10), scale)
		})
	}
	if e.TypeLength > maxDecimal {
		return foreign(fmt.Sprintf("decimals of %d bytes", e.TypeLength))
	}
	r := number(func(dst, v []byte) []byte {
		n := new(big.Int).SetBytes(v)
		if len(v) > 0 && v[0]&0x80 != 0 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
		}
		return appendScaled(dst, n.Append(nil, 10), scale)
	})
	r.longest = maxDecimal
	return r
}

// appendScaled appends an integer with a decimal point before its last scale digits.
func appendScaled(dst, digits []byte, scale int) []byte {
	if digits[0] == '-' {
		dst, digits = append(dst, '-'), digits[1:]
	}
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = append(slices.Repeat([]byte("0"), missing), digits...)
	}
	point := len(digits) - scale
	dst = append(dst, digits[:point]...)
	if scale > 0 {
		dst = append(append(dst, '.'), digits[point:]...)
	}
	return dst
}

// perSecond returns how many of a TimeUnit make a second.
func perSecond(unit int16) int64 {
	switch unit {
	case 1:
		return 1e3
	case 2:
		return 1e6
	default:
		return 1e9
	}
}

const secondsADay = 24 * 60 * 60

// timestamps renders timestamps of all units alike, so that files with different units sort together correctly.
func timestamps(perSecond int64) rendering {
	return text(func(dst, v []byte) []byte {
		n := integerOf(v)
		day, rest := floorDiv(n, secondsADay*perSecond)
		return appendTime(append(appendDate(dst, day), 'T'), rest, perSecond)
	})
}

// appendInt96 appends a timestamp of Impala or old Spark: nanoseconds of the day, and the Julian day.
func appendInt96(dst, v []byte) []byte {
	const julian = 2_440_588 // 1970-01-01
	day := int64(binary.LittleEndian.Uint32(v[8:])) - julian
	return appendTime(append(appendDate(dst, day), 'T'), int64(binary.LittleEndian.Uint64(v)), 1e9)
}

func floorDiv(a, b int64) (quotient, rest int64) {
	quotient, rest = a/b, a%b
	if rest < 0 {
		quotient, rest = quotient-1, rest+b
	}
	return quotient, rest
}

// appendDate appends the Gregorian date that is the given number of days after 1970-01-01 (Howard Hinnant,
// chrono-Compatible Low-Level Date Algorithms, civil_from_days).
func appendDate(dst []byte, days int64) []byte {
	era, day := floorDiv(days+719_468, 146_097)
	year := (day - day/1460 + day/36524 - day/146096) / 365
	day -= 365*year + year/4 - year/100
	month := (5*day + 2) / 153 // 0 is March
	day -= (153*month+2)/5 - 1
	year += 400 * era
	if month += 3; month > 12 {
		month, year = month-12, year+1
	}
	if year < 0 {
		dst, year = append(dst, '-'), -year
	}
	return fmt.Appendf(dst, "%04d-%02d-%02d", year, month, day)
}

// appendTime appends a time of day with nine digits of a second.
func appendTime(dst []byte, n, perSecond int64) []byte {
	if n < 0 || n/perSecond >= 2*secondsADay { // not a time of day; leap seconds are
		return strconv.AppendInt(dst, n, 10)
	}
	s, rest := n/perSecond, n%perSecond
	return fmt.Appendf(dst, "%02d:%02d:%02d.%09d", s/3600, s/60%60, s%60, rest*(1e9/perSecond))
}

func appendUUID(dst, v []byte) []byte {
	for i, n := range []int{4, 2, 2, 2, 6} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst, v = hex.AppendEncode(dst, v[:n]), v[n:]
	}
	return dst
}

// halfFloat returns the value of an IEEE 754 binary16.
func halfFloat(h uint16) float64 {
	sign := 1 - 2*float64(h>>15)
	exponent, fraction := int(h>>10&31), float64(h&1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	default:
		return sign * math.Ldexp(1024+fraction, exponent-25)
	}
}
