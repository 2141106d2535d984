package dedup

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// The parameters in run.json parse like the flags did, again and again, with the same fingerprint.
func TestRunJSONAsksTheSame(t *testing.T) {
	for _, args := range [][]string{
		{"in"},
		{"in", "more", "--threshold=.7345", "--text=title", "--text=body", "--id=key", "--format=csv", "--delimiter=tab", "--no-header", "--limit=7", "--encoding=latin1"},
		{"in", "--include=*.csv", "--exclude=b", "--invalid-utf8=keep", "--shingle=char:9", "--min-words=3", "--max-doc-bytes=1MB", "--max-window=9MiB"},
		{"in", "--shingle=char32:9", "--normalize=stem:it,keep-case,no-stop-words:en,keep-symbols", "--allow-empty"},
		{"in", "--shingle=byte:13", "--normalize=none", "--signature=salted", "--method=minhash", "--seed=9"},
		{"in", "--method=simhash", "--bits=100", "--vectors=sign", "--weights=tf-idf", "--seed=5", "--pieces=4"},
		{"in", "--method=simhash", "--compare=cosine", "--weights=tf"},
		{"in", "--method=simhash", "--recall=.999"},
		{"in", "--method=complete", "--compare=overlap", "--bits=64"},
		{"in", "--method=exact", "--same=set", "--keep=prefer:a/*,b", "--protect=c/", "--max-rejected=1.5%", "--max-removed=20%", "--drop-not-compared"},
		{"in", "--method=exact", "--keep=max:date", "--cluster=components", "--write=pairs,removed", "--max-rejected=3"},
	} {
		var config Config
		parser, err := kong.New(&config, kong.Vars(job.Vars()))
		if err != nil {
			t.Fatal(err)
		}
		command, err := parser.Parse(append(args, "--output=out"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range command.Path {
			if path.Flag != nil {
				config.Given = append(config.Given, path.Flag.Name)
			}
		}
		want, err := config.compile()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		data, err := json.Marshal(records.Run{Parameters: want.Spec, Given: want.Given, Running: config.Record()})
		if err != nil {
			t.Fatal(err)
		}
		var read records.Run
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		got, err := job.Compile(read.Parameters, read.Given...)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %v\n%+v\nwant\n%+v", args, err, got, want)
		}
	}
}
