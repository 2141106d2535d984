package dataflow

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/httptransport"
	df "google.golang.org/api/dataflow/v1b3"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"

	"github.com/neardup/neardup/io/storage"
)

const scheme = "gs://"

// The service's rules (https://cloud.google.com/dataflow/docs/reference/rest/v1b3/projects.locations.jobs).
var (
	jobName    = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	regionName = regexp.MustCompile(`^[a-z]+-[a-z]+[0-9]+$`)
)

// isLabel reports whether s is a valid label value. As a regular expression, these classes repeated 63 times would take
// 8 MB and 7 ms at every start.
func isLabel(s string) bool {
	return utf8.RuneCountInString(s) <= 63 && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.In(r, unicode.Ll, unicode.Lo, unicode.N) && r != '_' && r != '-'
	})
}

// isLabelKey reports whether s is a valid label key: a value that begins with a letter.
func isLabelKey(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return isLabel(s) && unicode.Is(unicode.Ll, first)
}

// armMachines matches the machine series with Arm processors.
var armMachines = regexp.MustCompile(`^(t2a|c4a|n4a|a4x)-`)

// Arch returns Go's name of a machine type's architecture.
func Arch(machineType string) string {
	if armMachines.MatchString(machineType) {
		return "arm64"
	}
	return "amd64"
}

// Check returns an error if the service would refuse the options, or if they make no sense.
func (o *Options) Check() error {
	switch {
	case o.Project == "":
		return errors.New("no project; give the id of the project to bill, as in --project my-project; gcloud config get " +
			"project prints yours")
	case o.Region == "":
		return errors.New("no region; use one near the data, as in --region europe-west1; gcloud compute regions list " +
			"prints all")
	case !regionName.MatchString(o.Region):
		return fmt.Errorf("region %q: not the name of a region, such as europe-west1; gcloud compute regions list prints all",
			o.Region)
	case o.Staging == "":
		return errors.New("no staging location; use a folder in a bucket, as in --staging-location gs://BUCKET/staging; " +
			"gcloud storage buckets create gs://BUCKET --location " + o.Region + " makes one")
	case o.Name != "" && (!jobName.MatchString(o.Name) || len(o.Name) > 1024):
		return fmt.Errorf("job name %q: use only lower-case letters, digits and hyphens; begin with a letter, and end with "+
			"a letter or digit", o.Name)
	case o.NumWorkers < 0 || o.MaxNumWorkers < 0 || o.WorkerHarnessThreads < 0 || o.DiskSizeGb < 0:
		return errors.New("numbers of workers and threads, and the size of disks, must be at least 1")
	case o.NumWorkers > 0 && o.MaxNumWorkers > 0 && o.NumWorkers > o.MaxNumWorkers:
		return fmt.Errorf("%d workers are more than max-num-workers, %d; use fewer --workers, or raise the maximum",
			o.NumWorkers, o.MaxNumWorkers)
	}
	for what, folder := range map[string]string{"staging location": o.Staging, "temp location": o.TempLocation} {
		if bucket, ok := strings.CutPrefix(folder, scheme); folder != "" && (!ok || strings.Trim(bucket, "/") == "") {
			return fmt.Errorf("%s %s: must be in a bucket, as in gs://BUCKET/FOLDER", what, folder)
		}
	}
	for key, value := range o.Labels {
		if !isLabelKey(key) || !isLabel(value) {
			return fmt.Errorf("label %s=%s: use only lower-case letters, digits, _ and -, with at most 63 "+
				"characters in the key and in the value; begin the key with a letter",
				key, value)
		}
	}
	return nil
}

// Connect returns the service once it, and the buckets that the job needs, have answered. folders are those to which
// workers write, besides the staging and temp locations; test files written there are removed again.
func Connect(ctx context.Context, o Options, folders ...string) (*Service, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	o.TempLocation = cmp.Or(o.TempLocation, storage.Join(o.Staging, "tmp"))
	o.Name = cmp.Or(o.Name, "neardup-"+strings.ToLower(rand.Text()))
	s, err := dial(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.probe(ctx); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, folder := range append([]string{o.Staging, o.TempLocation}, folders...) {
		if bucket := bucketOf(folder); !seen[bucket] {
			seen[bucket] = true
			if err := tryBucket(ctx, o, folder); err != nil {
				return nil, err
			}
			warnOfRetention(ctx, folder)
		}
	}
	return s, nil
}

// dial returns the service, with gcloud's credentials.
func dial(ctx context.Context, o Options) (*Service, error) {
	found, err := credentials.DetectDefault(&credentials.DetectOptions{Scopes: []string{df.CloudPlatformScope}})
	if err != nil {
		return nil, fmt.Errorf("there are no credentials for Google Cloud; %s (%w)", login, err)
	}
	hc, err := httptransport.NewClient(&httptransport.Options{Credentials: found, DisableTelemetry: true,
		Headers: http.Header{"User-Agent": {"neardup"}}})
	if err != nil {
		return nil, err
	}
	options := []option.ClientOption{option.WithHTTPClient(hc)}
	if o.Endpoint != "" {
		options = append(options, option.WithEndpoint(strings.TrimSuffix(o.Endpoint, "/")+"/"))
	}
	service, err := df.NewService(ctx, options...)
	if err != nil {
		return nil, err
	}
	return &Service{options: o, jobs: service.Projects.Locations.Jobs}, nil
}

// probe asks for active jobs of this name: there may be one, and an account that may not ask may not submit either.
func (s *Service) probe(ctx context.Context) error {
	o := &s.options
	found, err := s.named(ctx, o.Name, "ACTIVE")
	if err != nil {
		return err
	}
	if o.Update && len(found) == 0 {
		return fmt.Errorf("no job named %s is running; give the --job-name of the job to replace, or drop --update", o.Name)
	}
	if o.Update {
		s.replaces = found[0].Id
		return nil
	}
	if len(found) > 0 {
		j := Job{Project: o.Project, Region: o.Region, Name: o.Name, ID: found[0].Id}
		return fmt.Errorf("a job named %s is already running, %s, and Dataflow does not run two jobs with the same name; "+
			"wait for it, use another --job-name, or stop it with gcloud dataflow jobs cancel %s --project %s --region %s",
			o.Name, j.ID, j.ID, j.Project, j.Region)
	}
	return nil
}

// tryBucket writes a file to a folder and removes it.
func tryBucket(ctx context.Context, o Options, folder string) error {
	path := storage.Join(folder, ".neardup-probe-"+rand.Text())
	_, err := storage.WriteFile(ctx, path, func(io.Writer) error { return nil })
	if err == nil {
		err = storage.RemoveAll(ctx, path)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	bucket := bucketOf(folder)
	return fmt.Errorf("bucket gs://%s cannot be written to: %w; if it does not exist: gcloud storage buckets create "+
		"gs://%s --project %s --location %s; if this account has no write permission: gcloud storage buckets "+
		"add-iam-policy-binding gs://%s --member=user:YOU --role=roles/storage.objectAdmin",
		bucket, err, bucket, o.Project, o.Region, bucket)
}

// warnOfRetention warns of a bucket with soft delete, which Google advises against for temporary files.
func warnOfRetention(ctx context.Context, folder string) {
	store, err := storage.At(folder)
	if err != nil {
		return
	}
	s, ok := store.(storage.Retaining)
	if !ok {
		return
	}
	if kept := s.Retains(ctx, folder); kept > 0 {
		slog.Warn(fmt.Sprintf("bucket gs://%s keeps deleted files for %.4g days, including temporary ones, and you pay for "+
			"this; to change it: gcloud storage buckets update gs://%[1]s --clear-soft-delete",
			bucketOf(folder), kept.Hours()/24))
	}
}

func bucketOf(url string) string {
	bucket, _, _ := strings.Cut(strings.TrimPrefix(url, scheme), "/")
	return bucket
}

const login = "log in with gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS to the key " +
	"file of a service account"

// refusal returns an error of the service with advice on what to do about it.
func (s *Service) refusal(doing string, err error) error {
	var refused *googleapi.Error
	var token *auth.Error
	project := s.options.Project
	switch {
	case errors.As(err, &token):
		return fmt.Errorf("%s: no valid credentials for Google Cloud: %w; %s", doing, err, login)
	case !errors.As(err, &refused):
		return fmt.Errorf("%s: %w", doing, err)
	}
	said := strings.TrimSuffix(strings.Join(strings.Fields(cmp.Or(refused.Message, http.StatusText(refused.Code))), " "),
		".")
	mend := ""
	switch {
	case refused.Code == http.StatusUnauthorized:
		mend = login
	case refused.Code == http.StatusForbidden &&
		strings.Contains(said, "has not been used"), strings.Contains(said, "is disabled"):
		mend = "enable it: gcloud services enable dataflow.googleapis.com --project " + project
	case refused.Code == http.StatusForbidden:
		mend = fmt.Sprintf("allow it: gcloud projects add-iam-policy-binding %s --member=user:YOU "+
			"--role=roles/dataflow.developer", project)
	case refused.Code == http.StatusNotFound:
		mend = fmt.Sprintf("check the project and the region: gcloud projects describe %s; gcloud compute regions list",
			project)
	case refused.Code == http.StatusTooManyRequests:
		mend = fmt.Sprintf("check the quotas: gcloud compute regions describe %s --project %s", s.options.Region, project)
	}
	if mend != "" {
		mend = "; " + mend
	}
	return &RefusedError{Status: refused.Code,
		text: fmt.Sprintf("%s: Dataflow says %d: %s%s", doing, refused.Code, said, mend)}
}

// RefusedError says that the service refused a request.
type RefusedError struct {
	Status int // HTTP status
	text   string
}

func (e *RefusedError) Error() string { return e.text }
