package tar

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codectest"
)

func TestInvariants(t *testing.T) {
	for _, s := range codectest.Samples() {
		if s.Format == "tar" {
			codectest.Invariants(t, codectest.Headed(New(codec.Fields{})), s.Content)
		}
	}
}

func FuzzInvariants(f *testing.F) {
	long := codectest.Tar("././@LongLink", 'L', "a")
	codectest.Fuzz(f, codectest.Headed(New(codec.Fields{})), codectest.Tar("a", '0', ""), long[:512], strings.Repeat("\x00", 512))
}

// read returns the id and text of each document of an archive, and whether any is unreadable.
func read(archive []byte) (documents []string, broken bool) {
	c := New(codec.Fields{})
	for {
		n, ok := c.Start(archive, true)
		if !ok {
			return documents, broken
		}
		archive = archive[n:]
		n, _, _ = c.End(archive, 0, true)
		record := archive[:n]
		archive = archive[n:]
		var doc codec.Document
		err := c.Decode(record, &doc)
		broken = broken || err != nil
		if err == nil && !Besides(record) {
			documents = append(documents, fmt.Sprintf("%s: %q", doc.ID, doc.Text))
		}
	}
}

// oracle returns what the standard library reads.
func oracle(archive []byte) (documents []string, err error) {
	r := tar.NewReader(bytes.NewReader(archive))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return documents, err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return documents, err
		}
		if h.Typeflag == tar.TypeReg {
			documents = append(documents, fmt.Sprintf("%s: %q", h.Name, content))
		}
	}
}

// TestAgainstStandardLibrary checks that members in all formats of archive/tar are read as archive/tar reads them.
func TestAgainstStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for range rapid.IntRange(0, 6).Draw(t, "members") {
			name := rapid.OneOf(rapid.StringMatching(`[a-z]{1,20}`), rapid.StringMatching(`(\.\./)?([a-zé]{30,60}/){1,5}[a-z]{1,120}`)).Draw(t, "name")
			content := rapid.SliceOfN(rapid.Byte(), 0, 1200).Draw(t, "content")
			kind := rapid.SampledFrom([]byte{tar.TypeReg, tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink, tar.TypeFifo}).Draw(t, "kind")
			h := &tar.Header{
				Name: name, Typeflag: kind, Mode: 0o644,
				Format: rapid.SampledFrom([]tar.Format{tar.FormatUnknown, tar.FormatPAX, tar.FormatGNU}).Draw(t, "format"),
			}
			switch kind {
			case tar.TypeReg:
				h.Size = int64(len(content))
			case tar.TypeSymlink, tar.TypeLink:
				h.Linkname = strings.Repeat("to/", rapid.IntRange(1, 60).Draw(t, "link"))
				content = nil
			default:
				content = nil
			}
			if err := w.WriteHeader(h); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(content); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		want, err := oracle(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if got, broken := read(b.Bytes()); broken || !slices.Equal(got, want) {
			t.Fatalf("broken: %v, documents\n%s\nwant\n%s", broken, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// FuzzAgainstStandardLibrary checks that an archive which archive/tar reads to its end has the same documents here.
func FuzzAgainstStandardLibrary(f *testing.F) {
	f.Add([]byte(codectest.Tar("a/b", '0', "text")))
	f.Add([]byte(codectest.Tar("", 'x', "14 path=./pax\n") + codectest.Tar("p", '7', "two")))
	f.Add([]byte(codectest.Tar("././@LongLink", 'K', "a\x00") + codectest.Tar("././@LongLink", 'L', "b\x00") + codectest.Tar("p", 0, "")))
	f.Fuzz(func(t *testing.T, archive []byte) {
		got, broken := read(archive)
		want, err := oracle(archive)
		if err == nil && !broken && !slices.Equal(got[:min(len(got), len(want))], want) { // it stops at zeros
			t.Errorf("documents %q, want %q", got, want)
		}
	})
}

func TestBroken(t *testing.T) {
	good := codectest.Tar("a", '0', "text")
	for archive, want := range map[string]string{
		good[:600]:     "malformed tar: the archive ends 424 bytes before the end of this member; fetch it again",
		good[:400]:     "malformed tar: its header is truncated; the rest of the archive cannot be read, so fetch it again",
		"x" + good:     "malformed tar: the checksum of its header is wrong; the rest of the archive cannot be read, so fetch it again",
		"X" + good[1:]: "malformed tar: the checksum of its header is wrong; the rest of the archive cannot be read, so fetch it again",
		codectest.Tar("", 'x', "14 path=x") + good:                        "malformed tar: its pax header is malformed at \"14 path=x\"; the rest of the archive cannot be read, so fetch it again",
		codectest.Tar("", 'L', strings.Repeat("x", codec.MaxHead)) + good: "malformed tar: its headers have more than 65536 bytes; the rest of the archive cannot be read, so fetch it again",
	} {
		var doc codec.Document
		n, _, ok := New(codec.Fields{}).End([]byte(archive), 0, true)
		err := New(codec.Fields{}).Decode([]byte(archive), &doc)
		if err == nil || err.Error() != want || n != len(archive) || !ok || Besides([]byte(archive)) {
			t.Errorf("%.20q: error %v, want %s; its record has %d bytes of %d", archive, err, want, n, len(archive))
		}
	}
}

// holes returns a member of GNU tar whose map of holes takes the given number of blocks.
func holes(blocks int) []byte {
	m := []byte(codectest.Tar("holes", gnuSparse, "data"))
	m[482] = 1 // more of the map follows
	sum := 0
	copy(m[148:156], "        ")
	for _, c := range m[:block] {
		sum += int(c)
	}
	copy(m[148:], fmt.Sprintf("%06o\x00 ", sum))
	more := make([]byte, blocks*block)
	for i := range blocks - 1 {
		more[i*block+504] = 1
	}
	return slices.Concat(m[:block], more, m[block:])
}

// TestManyHoles checks that a map of holes is treated as part of the header, and that the member ends in the same place
// however much of the archive is seen at a time.
func TestManyHoles(t *testing.T) {
	const most = codec.MaxHead/block - 1
	behind := []byte(codectest.Tar("b", '0', "text"))
	for blocks, want := range map[int]string{
		most:       "",
		most + 1:   "malformed tar: its headers have more than 65536 bytes; the rest of the archive cannot be read, so fetch it again",
		2*most + 9: "malformed tar: its headers have more than 65536 bytes; the rest of the archive cannot be read, so fetch it again",
	} {
		member := holes(blocks)
		archive := slices.Concat(member, behind)
		var doc codec.Document
		if err := New(codec.Fields{}).Decode(archive, &doc); want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%d blocks: error %v, want %q", blocks, err, want)
		}
		if Besides(member) != (want == "") {
			t.Errorf("%d blocks: besides the documents: %v", blocks, Besides(member))
		}
		end := len(member)
		if want != "" {
			end = len(archive)
		}
		for _, window := range []int{codec.MaxHead, codec.MaxHead + 4000, len(archive)} {
			window = min(window, len(archive))
			n, state, ok := New(codec.Fields{}).End(archive[:window], 0, window == len(archive))
			if !ok {
				var more int
				more, _, ok = New(codec.Fields{}).End(archive[n:], state, true)
				n += more
			}
			if n != end || !ok {
				t.Errorf("%d blocks, by windows of %d: it ends at %d, want %d", blocks, window, n, end)
			}
		}
	}
}

// TestSparse checks that a file with holes is not a document, and that the members after it are found.
func TestSparse(t *testing.T) {
	archive := slices.Concat(holes(1),
		[]byte(codectest.Tar("", 'x', "22 GNU.sparse.major=1\n")+codectest.Tar("GNUSparseFile.0/a", '0', "1\n0\n4\n")+codectest.Tar("b", '0', "text")))
	if got, broken := read(archive); broken || !slices.Equal(got, []string{`b: "text"`}) {
		t.Errorf("broken: %v, documents %q", broken, got)
	}
}

// TestLeadingNUL checks that a size with a NUL before its digits counts, as in archive/tar and GNU tar.
func TestLeadingNUL(t *testing.T) {
	archive := []byte(codectest.Tar("a", '0', "text"))
	archive[124], archive[500] = 0, archive[124] // with the same checksum
	if got, broken := read(archive); broken || !slices.Equal(got, []string{`a: "text"`}) {
		t.Errorf("broken: %v, documents %q", broken, got)
	}
}

// TestLinkWithSize checks that a size in the header of a link does not count as content, as in archive/tar.
func TestLinkWithSize(t *testing.T) {
	archive := []byte(codectest.Tar("link", '1', "text")[:block] + codectest.Tar("b", '0', "two") + strings.Repeat("\x00", 2*block))
	want, err := oracle(archive)
	if got, broken := read(archive); err != nil || broken || !slices.Equal(got, want) || len(got) != 1 {
		t.Errorf("documents %q, want %q, error %v", got, want, err)
	}
}
