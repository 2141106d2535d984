package dedup_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/fakes3"
	"github.com/neardup/neardup/io/storage/s3"
	"github.com/neardup/neardup/pipelines/dedup"
)

// A run from a store to the same store sends six requests per file: three read it, one writes its corpus file, and two
// move that to its place. The number of other requests does not depend on the number of files, except for pages of
// listings. The sample reads 64 KB at 64 places; of files so small that this is all there is, it takes a seventh.
func TestRequestsOfFile(t *testing.T) {
	var sent [2]int
	for i, n := range []int{400, 800} {
		fake := lake(t, n, 13<<10)
		asked := ask(t, "s3://lake/in", "--threshold=0.5")
		asked.Output = "s3://lake/out"
		task, err := dedup.New(t.Context(), asked)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := task.Run(t.Context(), launch(asked)); err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int{}
		for _, r := range fake.Log() {
			kind := r.Method
			if r.Header.Get("X-Amz-Copy-Source") != "" {
				kind = "COPY"
			}
			kinds[kind]++
		}
		sent[i] = len(fake.Log())
		t.Log(n, kinds)
	}
	if more := sent[1] - sent[0]; more > 6*400+20 {
		t.Errorf("400 files more take %d requests, %.2f each", more, float64(more)/400)
	}
}

// A run reads each small object four times, once for the sample and in three reads, with one request each, and never
// asks for its state.
func TestRequestsOfRun(t *testing.T) {
	const n = 200
	fake := lake(t, n, 0)
	run(t, ask(t, "s3://lake/in", "--threshold=0.5"))
	gets, heads := map[string]int{}, 0
	for _, r := range fake.Log() {
		switch {
		case r.Key == "", r.Status == http.StatusNotFound: // a listing
		case r.Method == http.MethodGet:
			gets[r.Key]++
		default:
			heads++
		}
	}
	if len(gets) != n || heads > 0 {
		t.Errorf("%d objects are read, and %d times it is asked what one is", len(gets), heads)
	}
	for key, n := range gets {
		if n > 4 {
			t.Fatalf("%s is read with %d requests", key, n)
		}
	}
}

// lake returns a store with n files in the folder in, of five documents each, with so many bytes that are not compared.
func lake(t *testing.T, n, more int) *fakes3.Server {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": fakes3.AccessKey, "AWS_SECRET_ACCESS_KEY": fakes3.SecretKey, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
	} {
		t.Setenv(name, value)
	}
	fake := fakes3.New("lake")
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	s3.Register(s3.Options{Endpoint: server.URL, Region: fake.Region})
	for i := range n {
		content := ""
		for j := range 5 {
			content += fmt.Sprintf("{\"id\":\"%d-%d\",\"text\":\"one of the texts that all are alike but for number %d of them\",\"more\":%q}\n", i, j, i*j, strings.Repeat("x", more))
		}
		fake.Put("lake", fmt.Sprintf("in/%03d.jsonl", i), content, nil)
	}
	return fake
}
