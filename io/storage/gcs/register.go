package gcs

import (
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/bucket"
)

const scheme = "gs://"

// Register makes a client with the options the store of all paths that begin with gs://.
func Register(o Options) { storage.Register(scheme, bucket.New(scheme, New(o))) }
