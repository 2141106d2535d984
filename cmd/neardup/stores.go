package main

import (
	"cmp"
	"encoding/json"
	"os"
	"reflect"
	"slices"

	"github.com/neardup/neardup/internal/beamcli"
	"github.com/neardup/neardup/io/storage/gcs"
	"github.com/neardup/neardup/io/storage/s3"
	"github.com/neardup/neardup/pipelines/job"
)

// storeFlags say how to reach object stores. Clients find other settings, and credentials, as their stores' own tools
// do.
type storeFlags struct {
	Endpoint      map[string]string `name:"store-endpoint" mapsep:"none" placeholder:"STORE=URL" help:"Address of s3 or gs, as in s3=https://minio.example:9000; repeat for both (default: AWS_ENDPOINT_URL_S3 and STORAGE_EMULATOR_HOST, or AWS and Google)." group:"Stores"`
	S3PathStyle   *bool             `name:"s3-path-style" negatable:"" help:"Name the bucket in the path of a request, not in its host (default: only if an endpoint is set)." group:"Stores"`
	Anonymous     []string          `enum:"s3,gs" placeholder:"STORE" help:"Read public buckets of s3 or gs without credentials; repeat for both." group:"Stores"`
	RequesterPays bool              `help:"Pay for requests to requester-pays buckets; on Google Cloud Storage, the project in GOOGLE_CLOUD_QUOTA_PROJECT pays." group:"Stores"`
	KMSKey        string            `name:"kms-key" placeholder:"KEY" help:"KMS key that encrypts all that neardup writes to the output's store." group:"Stores"`

	// The region, and the project that pays, are from the environment, which workers may not have.
	S3Region  string `kong:"-"`
	GSProject string `kong:"-"`
}

// register registers the stores of this process with these flags. A client looks for credentials when it is first used.
func (f storeFlags) register() {
	s3.Register(s3.Options{
		Endpoint: f.Endpoint["s3"], Region: f.S3Region, PathStyle: f.S3PathStyle,
		Anonymous:     slices.Contains(f.Anonymous, "s3"),
		RequesterPays: f.RequesterPays, KMSKey: f.KMSKey,
	})
	gcs.Register(gcs.Options{Endpoint: f.Endpoint["gs"], Anonymous: slices.Contains(f.Anonymous, "gs"),
		UserProject: f.GSProject, KMSKey: f.KMSKey})
}

func init() { storeFlags{}.register() }

// tellStores makes the workers of a job reach stores as its launcher does.
var tellStores = beamcli.Teller("neardup-stores", func(text string) error {
	var f storeFlags
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return err
	}
	f.register()
	return nil
})

// use applies the flags, here and in workers.
func (f storeFlags) use() error {
	for store := range f.Endpoint {
		if store != "s3" && store != "gs" {
			return job.Usage("--store-endpoint %s=%s: %q is unknown; use s3 or gs", store, f.Endpoint[store], store)
		}
	}
	f.S3Region = cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	if f.RequesterPays {
		f.GSProject = os.Getenv("GOOGLE_CLOUD_QUOTA_PROJECT")
	}
	if reflect.ValueOf(f).IsZero() {
		return nil
	}
	f.register()
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return tellStores(string(text))
}
