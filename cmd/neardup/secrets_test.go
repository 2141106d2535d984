package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/neardup/neardup/internal/fakegcs"
	"github.com/neardup/neardup/internal/fakes3"
)

// refusing is a job server that records the job it gets, and does not run it.
type refusing struct {
	jobpb.UnimplementedJobServiceServer
	mu    sync.Mutex
	asked []byte
}

func (*refusing) GetJobs(context.Context, *jobpb.GetJobsRequest) (*jobpb.GetJobsResponse, error) {
	return &jobpb.GetJobsResponse{}, nil
}

func (f *refusing) Prepare(_ context.Context, r *jobpb.PrepareJobRequest) (*jobpb.PrepareJobResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked, _ = proto.Marshal(r)
	return nil, errors.New("no job is run here")
}

// serveRefusing starts a job server, and returns its address.
func serveRefusing(t *testing.T) (*refusing, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &refusing{}
	server := grpc.NewServer()
	jobpb.RegisterJobServiceServer(server, f)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return f, listener.Addr().String()
}

// planted returns an environment with credentials, and the secrets in it.
func planted(t *testing.T, scheme string) (env, secrets []string) {
	t.Helper()
	if scheme == "s3" {
		const token = "FwoGZXIvYXdzEPLANTED//////////wEaDH"
		return []string{"AWS_SESSION_TOKEN=" + token}, []string{fakes3.AccessKey, fakes3.SecretKey, token, "X-Amz-Signature", "X-Amz-Credential", "AWS4-HMAC"}
	}
	const token = "ya29.planted-access-token"
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"`+token+`","token_type":"Bearer","expires_in":3600}`)
	}))
	t.Cleanup(tokens.Close)
	file, text := fakegcs.Account(t, "p", tokens.URL)
	secrets = append(strings.Split(strings.TrimSpace(text), "\n"), token, "secret-session", "upload_id=", "Bearer ")
	return []string{"GOOGLE_APPLICATION_CREDENTIALS=" + file}, secrets
}

var base64s = regexp.MustCompile(`[A-Za-z0-9+/]{16,}`)

// unpacked returns data with everything in it that is base64, such as the steps of a pipeline, decoded to some depth.
// The start of base64 is not known, because the length before it may look like a part of it.
func unpacked(data []byte, depth int) []byte {
	all := bytes.Clone(data)
	for _, text := range base64s.FindAll(data, -1) {
		for from := range 4 {
			part := text[from:]
			part = part[:len(part)/4*4]
			inner := make([]byte, len(part))
			if n, err := base64.StdEncoding.Decode(inner, part); err == nil && depth > 0 {
				all = append(append(all, '\n'), unpacked(inner[:n], depth-1)...)
			}
		}
	}
	return all
}

// TestSecrets: credentials, and tokens made from them, are in nothing that a run writes or sends elsewhere, whatever it
// logs and however it ends.
func TestSecrets(t *testing.T) {
	for scheme := range clouds {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			env, secrets := planted(t, scheme)
			server, address := serveRefusing(t)
			var signed atomic.Bool
			for name, run := range map[string]struct {
				flags  []string
				status int
				refuse func(*http.Request) bool
			}{
				"replaces":   {flags: replace},
				"unreadable": {status: 4, flags: replace},
				"refused": {status: 2, flags: replace, refuse: func(r *http.Request) bool {
					return r.Method != http.MethodGet && readAll(r) && strings.Contains(content(r), "/w/")
				}},
				"unpublished": {status: 2, flags: replace, refuse: func(r *http.Request) bool {
					return r.URL.Query().Has("X-Amz-Expires") || r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/_SUCCESS")
				}},
				"direct":  {flags: append([]string{"--runner=direct"}, replace...)},
				"cluster": {status: 1, flags: append([]string{"--runner=flink", "--job-server=" + address}, replace...)},
			} {
				c := clouds[scheme](t, inputs(t, name == "replaces"))
				c.flags = slices.DeleteFunc(c.flags, func(flag string) bool { return flag == "--anonymous=gs" })
				dedup := func(more ...string) *process {
					p := c.dedup(append(more, "-vv", "--log-format=json", "--json")...)
					p.Env = append(p.Env, env...)
					return p
				}
				c.ends(dedup(), 0)
				if run.status == 4 {
					c.put("in/3.jsonl", "{")
				}
				c.disturbed(func(w http.ResponseWriter, r *http.Request, _ int) {
					if r.Header.Get("Authorization") != "" {
						signed.Store(true)
					}
					if run.refuse != nil && run.refuse(r) {
						c.refuse(w, r, http.StatusForbidden)
						return
					}
					c.store.ServeHTTP(w, r)
				})
				p := dedup(run.flags...)
				said := c.ends(p, run.status)
				written := map[string]string{"standard error": said, "standard output": p.stdout.String()}
				for name, content := range c.all() {
					written[name] = content
				}
				if name == "cluster" {
					server.mu.Lock()
					job := unpacked(server.asked, 3)
					server.mu.Unlock()
					for _, part := range []string{c.scheme + "b/out/.neardup/", "http://127.0.0.1"} {
						if !bytes.Contains(job, []byte(part)) {
							t.Errorf("the job does not say %s", part)
						}
					}
					written["job"] = string(job)
				}
				for where, text := range written {
					for _, secret := range secrets {
						if strings.Contains(text, secret) {
							t.Errorf("%s: %s has the secret %s", name, where, secret)
						}
					}
				}
			}
			if !signed.Load() {
				t.Error("no request had credentials")
			}
		})
	}
}
