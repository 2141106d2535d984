package s3

import (
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/bucket"
)

const scheme = "s3://"

// Register makes a client with the options the store of all paths that begin with s3://.
func Register(o Options) { storage.Register(scheme, bucket.New(scheme, New(o))) }
