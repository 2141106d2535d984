package main

import (
	"cmp"
	"encoding/json"
	"os"

	"github.com/neardup/neardup/internal/beamcli"
	"github.com/neardup/neardup/io/storage/gcs"
	"github.com/neardup/neardup/io/storage/s3"
)

// storeFlags say how object stores are reached. What they leave open, and who asks, each client finds as its
// own tools do.
type storeFlags struct {
	S3Endpoint      string `name:"s3-endpoint" placeholder:"URL" help:"S3 store that is not AWS (default: AWS_ENDPOINT_URL_S3, or AWS)." group:"Stores"`
	S3Region        string `kong:"-"` // that of the environment, which workers may not have
	S3PathStyle     *bool  `name:"s3-path-style" negatable:"" help:"Name the bucket in the path of a request and not in its host (default: with an endpoint)." group:"Stores"`
	S3Anonymous     bool   `name:"s3-anonymous" help:"Read public buckets without credentials." group:"Stores"`
	S3RequesterPays bool   `name:"s3-requester-pays" help:"Pay for requests to buckets whose requester pays." group:"Stores"`
	S3KMSKey        string `name:"s3-kms-key" placeholder:"KEY" help:"Encrypt what is written with this KMS key (SSE-KMS)." group:"Stores"`
	GSEndpoint      string `name:"gs-endpoint" placeholder:"URL" help:"Google Cloud Storage at another address (default: STORAGE_EMULATOR_HOST, or Google's)." group:"Stores"`
	GSAnonymous     bool   `name:"gs-anonymous" help:"Read public buckets without credentials." group:"Stores"`
	GSUserProject   string `name:"gs-user-project" placeholder:"PROJECT" help:"Project that pays for requests to buckets whose requester pays." group:"Stores"`
	GSKMSKey        string `name:"gs-kms-key" placeholder:"KEY" help:"Encrypt what is written with this KMS key." group:"Stores"`
}

// register makes the stores of this process those of the flags. A client looks for credentials when it is first used.
func (f storeFlags) register() {
	s3.Register(s3.Options{
		Endpoint: f.S3Endpoint, Region: f.S3Region, PathStyle: f.S3PathStyle, Anonymous: f.S3Anonymous,
		RequesterPays: f.S3RequesterPays, KMSKey: f.S3KMSKey,
	})
	gcs.Register(gcs.Options{Endpoint: f.GSEndpoint, Anonymous: f.GSAnonymous, UserProject: f.GSUserProject, KMSKey: f.GSKMSKey})
}

func init() { storeFlags{}.register() }

// tellStores has the workers of a job reach stores as its launcher does.
var tellStores = beamcli.Teller("neardup-stores", func(text string) error {
	var f storeFlags
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return err
	}
	f.register()
	return nil
})

// use makes the stores those of the flags, here and in workers.
func (f storeFlags) use() error {
	f.S3Region = cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	if f == (storeFlags{}) {
		return nil
	}
	f.register()
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return tellStores(string(text))
}
