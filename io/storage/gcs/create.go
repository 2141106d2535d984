package gcs

import (
	"context"
	"io"
	"net/http"
	"time"

	gcs "cloud.google.com/go/storage"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/bucket"
)

// chunkBytes is how much one request of an upload sends, and how much an upload holds in memory.
var chunkBytes = 8 << 20

const (
	// smallBytes are collected before an upload begins, so that small objects take little more memory than their size.
	smallBytes = 256 << 10
	// cancelTime is how long to try to cancel a failed upload.
	cancelTime = 10 * time.Second
)

// Create sends objects of less than chunkBytes in one request, and others by a resumable upload.
func (c *client) Create(
	ctx context.Context, at bucket.Key, cond storage.If, write func(io.Writer) error,
) (storage.Info, error) {
	o, err := c.object(ctx, at)
	if err != nil {
		return storage.Info{}, c.failed(ctx, at, err)
	}
	g, ok := generation(cond.Version)
	switch {
	case cond.Version != "" && (!ok || cond.Absent):
		return storage.Info{}, c.failed(ctx, at, storage.ErrPrecondition)
	case cond.Absent:
		o = o.If(gcs.Conditions{DoesNotExist: true})
	case cond.Version != "":
		o = o.If(gcs.Conditions{GenerationMatch: g})
	}
	u := &upload{client: c, at: at, parent: ctx, object: o}
	u.ctx, u.cancel = context.WithCancel(context.WithValue(ctx, callKey{}, &u.call))
	done := false
	defer func() { u.end(done) }()
	if err := write(u); err != nil {
		return storage.Info{}, err
	}
	attrs, err := u.close()
	if err != nil {
		return storage.Info{}, err
	}
	done = true
	c.reached.Store(at.Bucket, true)
	return info(attrs), nil
}

// upload is the writer of an object.
type upload struct {
	client *client
	at     bucket.Key
	object *gcs.ObjectHandle
	parent context.Context //nolint:containedctx // of Create
	ctx    context.Context //nolint:containedctx // of the requests
	cancel context.CancelFunc
	call   call
	held   []byte      // before w is opened
	w      *gcs.Writer // nil while the object is small
}

// open begins to send. A chunk that is not filled becomes a single request.
func (u *upload) open(chunk int) error {
	u.w = u.object.NewWriter(u.ctx)
	u.w.ChunkSize = chunk
	u.w.ChunkRetryDeadline = time.Hour // the number of tries is bounded instead
	u.w.ContentType = bucket.ContentType(u.at.Name)
	u.w.KMSKeyName = u.client.options.KMSKey
	held := u.held
	u.held = nil
	_, err := u.w.Write(held)
	return err
}

func (u *upload) Write(p []byte) (n int, err error) {
	if u.w == nil && len(u.held)+len(p) < smallBytes {
		u.held = append(u.held, p...)
		return len(p), nil
	}
	if u.w == nil {
		err = u.open(chunkBytes)
	}
	if err == nil {
		n, err = u.w.Write(p)
	}
	if err != nil {
		err = u.client.failed(u.parent, u.at, err)
	}
	return n, err
}

// close makes the object visible.
func (u *upload) close() (*gcs.ObjectAttrs, error) {
	err := u.ctx.Err()
	if err == nil && u.w == nil {
		err = u.open(len(u.held) + 1)
	}
	if err == nil {
		err = u.w.Close()
	}
	if err != nil {
		return nil, u.client.failed(u.parent, u.at, err)
	}
	return u.w.Attrs(), nil
}

// end waits until the requests have ended, and cancels the upload if it is not done.
func (u *upload) end(done bool) {
	u.cancel()
	if done || u.w == nil {
		return
	}
	_ = u.w.Close() // its context has been cancelled
	if session := u.call.session.Load(); session != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(u.parent), cancelTime)
		defer cancel()
		if req, err := http.NewRequestWithContext(ctx, http.MethodDelete, *session, nil); err == nil {
			if resp, err := u.client.http.Do(req); err == nil {
				resp.Body.Close()
			}
		}
	}
}
