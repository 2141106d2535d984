package dedup

import (
	"reflect"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/pipelines/job"
)

// What a finished run says of its flags reads and compares as they do.
func TestAgainIsTheRequest(t *testing.T) {
	for _, args := range [][]string{
		{"in"},
		{"in", "more", "--threshold=.7345", "--text=title", "--text=body", "--id=key", "--format=csv", "--delimiter=tab", "--no-header", "--limit=7", "--encoding=latin1"},
		{"in", "--include=*.csv", "--exclude=b", "--skip-unknown", "--invalid-utf8=keep", "--min-words=3", "--max-doc-bytes=1MB", "--max-id-bytes=9", "--max-window=9MiB", "--modified-before=2026-11-20"},
		{"in", "--shingle=char32:9", "--normalize=keep-case,keep-symbols", "--tokens=no-stop-words:en,stem:it", "--allow-empty"},
		{"in", "--shingle=byte:13", "--normalize=none", "--signature=salted", "--method=minhash", "--seed=9"},
		{"in", "--method=simhash", "--bits=100", "--vectors=sign", "--weights=tf-idf", "--seed=5", "--pieces=4"},
		{"in", "--method=simhash", "--compare=cosine", "--weights=tf"},
		{"in", "--method=complete", "--compare=overlap", "--bits=64"},
	} {
		var config Config
		parser, err := kong.New(&config, kong.Vars(Vars()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(append(args, "--output=out")); err != nil {
			t.Fatal(err)
		}
		want := config.request()
		got, err := again(config.Parameters())
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		want.Pieces = 0 // none are made
		if !reflect.DeepEqual(got.Input, want.Input) || !reflect.DeepEqual(got.Similarity, want.Similarity) || got.Comparing != want.Comparing || got.Seed != want.Seed || got.AllowEmpty != want.AllowEmpty {
			t.Errorf("%v:\n%+v\n%+v\n%+v\nwant\n%+v\n%+v\n%+v", args, got.Input, got.Similarity, got.Comparing, want.Input, want.Similarity, want.Comparing)
		}
	}
	unread := (&Config{Similarity: job.Similarity{}}).Parameters()
	unread.Shingle = "word"
	if _, err := again(unread); err == nil {
		t.Error("what cannot be read is no error")
	}
}
