package dataflow

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/pipelinex"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/hooks"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/protox"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow/dataflowlib"
	df "google.golang.org/api/dataflow/v1b3"
	"google.golang.org/protobuf/proto"

	"github.com/neardup/neardup/io/storage"
)

// sdkImage is the prefix of the SDK's container image in Google's own registry, which workers without public addresses
// can reach.
const sdkImage = "gcr.io/cloud-dataflow/v1beta3/beam_go_sdk:"

// launchLabel distinguishes a job that another program submits from other jobs of its name.
const launchLabel = "neardup-launch"

// portable are the experiments that the service requires for a portable pipeline; all SDKs send them.
var portable = []string{"beam_fn_api", "use_runner_v2", "use_unified_worker", "use_portable_job_submission"}

// submit uploads what the job needs and starts it. If it fails, it removes what it has uploaded.
func (s *Service) submit(ctx context.Context, p *beam.Pipeline) (j *job, err error) {
	o := &s.options
	folder := storage.Join(o.Staging, "go-"+strings.ToLower(rand.Text())) // its last part must be worker
	workerURL, modelURL := storage.Join(folder, "worker"), storage.Join(folder, "model")
	defer func() {
		if err != nil {
			err = errors.Join(err, storage.RemoveAll(context.WithoutCancel(ctx), folder))
		}
	}()
	slog.Info("uploading the worker binary", "to", workerURL)
	sum, err := uploadBinary(ctx, workerURL, o.Worker)
	if err != nil {
		return nil, fmt.Errorf("the worker binary could not be uploaded: %w", err)
	}
	model, err := s.marshal(ctx, p, workerURL, sum)
	if err != nil {
		return nil, err
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(model)
	if err != nil {
		return nil, err
	}
	if err := upload(ctx, modelURL, bytes.NewReader(encoded)); err != nil {
		return nil, fmt.Errorf("the pipeline could not be uploaded: %w", err)
	}
	request, err := s.request(ctx, model, workerURL, sum, modelURL, encoded)
	if err != nil {
		return nil, err
	}
	j = newJob(s, &Job{
		Project: o.Project, Region: o.Region, Name: o.Name, Endpoint: o.Endpoint, Model: modelURL,
	}, model, time.Now())
	if o.TemplateLocation != "" {
		j.job.Launch = strings.ToLower(rand.Text())
		request.Labels = maps.Clone(o.Labels)
		if request.Labels == nil {
			request.Labels = map[string]string{}
		}
		request.Labels[launchLabel] = j.job.Launch
		text, err := request.MarshalJSON()
		if err != nil {
			return nil, err
		}
		return j, upload(ctx, o.TemplateLocation, bytes.NewReader(text))
	}
	created, err := s.create(ctx, request)
	if err != nil {
		return nil, err
	}
	j.job.ID = created.Id
	return j, nil
}

// image returns the image of the workers' containers.
func (s *Service) image() string { return cmp.Or(s.options.ContainerImage, sdkImage+core.SdkVersion) }

// marshal returns the pipeline in the service's form, with steps that run in containers.
func (s *Service) marshal(ctx context.Context, p *beam.Pipeline, workerURL, sum string) (*pipepb.Pipeline, error) {
	edges, _, err := p.Build()
	if err != nil {
		return nil, err
	}
	environment, err := graphx.CreateEnvironment(ctx, graphx.URNEnvDocker,
		func(context.Context) string { return s.image() })
	if err != nil {
		return nil, err
	}
	environment.Dependencies = []*pipepb.ArtifactInformation{{
		TypeUrn:     graphx.URNArtifactURLType,
		TypePayload: protox.MustEncode(&pipepb.ArtifactUrlPayload{Url: workerURL, Sha256: sum}),
		RoleUrn:     graphx.URNArtifactGoWorkerRole,
	}}
	model, err := graphx.Marshal(edges,
		&graphx.Options{Environment: environment, PipelineResourceHints: s.options.ResourceHints})
	if err != nil {
		return nil, err
	}
	return model, pipelinex.ApplySdkImageOverrides(model, s.options.ImageOverrides)
}

// request returns the job in the form of the service's API.
func (s *Service) request(
	ctx context.Context, model *pipepb.Pipeline, workerURL, sum, modelURL string, encoded []byte,
) (*df.Job, error) {
	hooks.SerializeHooksToOptions()
	options := s.options.JobOptions
	options.Options, options.WorkerHash, options.ContainerImage = beam.PipelineOptions.Export(), sum, s.image()
	options.Experiments = slices.Clone(options.Experiments)
	for _, e := range portable {
		if !slices.Contains(options.Experiments, e) {
			options.Experiments = append(options.Experiments, e)
		}
	}
	hash := sha256.Sum256(encoded)
	request, err := dataflowlib.Translate(ctx, model, &options, workerURL, modelURL, hex.EncodeToString(hash[:]))
	if err != nil {
		return nil, err
	}
	request.ClientRequestId = strings.ToLower(rand.Text())
	request.ReplaceJobId = s.replaces
	return request, nil
}

// create starts a job exactly once: if an answer is lost, it sends the request again with the same id, by which the
// service recognises it.
func (s *Service) create(ctx context.Context, request *df.Job) (*df.Job, error) {
	o := &s.options
	var created *df.Job
	// If ctx ends now, the service may still start the job; wait will then decide about it.
	err := s.ask(context.WithoutCancel(ctx), "submitting the job", startPatience, func(ctx context.Context) (err error) {
		created, err = s.jobs.Create(o.Project, o.Region, request).Context(ctx).Do()
		return err
	})
	if refused := (*RefusedError)(nil); errors.As(err, &refused) && refused.Status == http.StatusConflict {
		return s.conflicting(context.WithoutCancel(ctx), request, err)
	}
	return created, err
}

// conflicting returns the job with which a request conflicts if that is the request's own; otherwise the conflict.
func (s *Service) conflicting(ctx context.Context, request *df.Job, conflict error) (*df.Job, error) {
	found, err := s.named(ctx, request.Name, "ALL")
	if err != nil {
		return nil, errors.Join(conflict, err)
	}
	j, err := s.first(ctx, found, func(j *df.Job) bool { return j.ClientRequestId == request.ClientRequestId })
	if j == nil {
		return nil, errors.Join(conflict, err)
	}
	return j, nil
}

// first returns the first job whose full description is wanted, or nil if there is none.
func (s *Service) first(ctx context.Context, of []*df.Job, wanted func(*df.Job) bool) (*df.Job, error) {
	for _, summary := range of {
		var j *df.Job
		err := s.ask(ctx, "asking for job "+summary.Id, startPatience, func(ctx context.Context) (err error) {
			j, err = s.jobs.Get(s.options.Project, s.options.Region, summary.Id).View("JOB_VIEW_ALL").Context(ctx).Do()
			return err
		})
		if err != nil {
			return nil, err
		}
		if wanted(j) {
			return j, nil
		}
	}
	return nil, nil
}

// named returns the listed jobs with this name. filter is the service's: ACTIVE selects running jobs, ALL and UNKNOWN
// all jobs.
func (s *Service) named(ctx context.Context, name, filter string) (found []*df.Job, err error) {
	doing := fmt.Sprintf("looking for jobs of project %s in %s", s.options.Project, s.options.Region)
	err = s.ask(ctx, doing, startPatience, func(ctx context.Context) error {
		found = nil
		call := s.jobs.List(s.options.Project, s.options.Region).Filter(filter).Name(name)
		return call.Pages(ctx, func(page *df.ListJobsResponse) error {
			for _, j := range page.Jobs {
				if j.Name == name {
					found = append(found, j)
				}
			}
			return nil
		})
	})
	return found, err
}

// uploadBinary uploads a file and returns its SHA-256.
func uploadBinary(ctx context.Context, url, file string) (sum string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if err := upload(ctx, url, io.TeeReader(f, hash)); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func upload(ctx context.Context, url string, from io.Reader) error {
	_, err := storage.WriteFile(ctx, url, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
	return err
}
