package dedup_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/internal/fakes3"
	"github.com/neardup/neardup/io/storage/s3"
)

// A run reads each small object four times: for the sample and three times in earnest, with a request each, and never asks what it is.
func TestRequestsOfRun(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": fakes3.AccessKey, "AWS_SECRET_ACCESS_KEY": fakes3.SecretKey, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
	} {
		t.Setenv(name, value)
	}
	fake := fakes3.New("lake")
	server := httptest.NewServer(fake)
	defer server.Close()
	s3.Register(s3.Options{Endpoint: server.URL, Region: fake.Region})
	const n = 200
	for i := range n {
		content := ""
		for j := range 5 {
			content += fmt.Sprintf("{\"id\":\"%d-%d\",\"text\":\"one of the texts that all are alike but for number %d of them\"}\n", i, j, i*j)
		}
		fake.Put("lake", fmt.Sprintf("in/%03d.jsonl", i), content, nil)
	}
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
