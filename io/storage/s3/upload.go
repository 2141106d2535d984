package s3

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/bucket"
)

// partBytes is the size of the first parts of an upload, and what an object is below that needs one request only.
var partBytes = 8 << 20

// partSize is the size of the part after n others. It doubles each 1,000 parts, so that the 10,000 that S3 takes hold
// the 5 TB that it takes, and memory stays small: 8 MiB up to 8 GB, 64 MiB at 100 GB.
func partSize(n int) int { return partBytes << (n / 1000) }

// abortTime is how long a failed upload is tried to be ended.
const abortTime = 10 * time.Second

// upload is a multipart upload.
type upload struct {
	*Client
	s     *service
	at    bucket.Key
	id    string
	parts []types.CompletedPart
}

func (u *upload) begin(ctx context.Context, in *s3.CreateMultipartUploadInput) error {
	in.Bucket, in.Key, in.RequestPayer = &u.at.Bucket, &u.at.Name, u.payer
	in.ServerSideEncryption, in.SSEKMSKeyId = u.encryption()
	out, err := u.s.CreateMultipartUpload(ctx, in)
	if err != nil {
		return fail(ctx, u.at, err)
	}
	u.id = aws.ToString(out.UploadId)
	return nil
}

func (c *Client) encryption() (types.ServerSideEncryption, *string) {
	if c.options.KMSKey == "" {
		return "", nil
	}
	return types.ServerSideEncryptionAwsKms, &c.options.KMSKey
}

// complete makes the parts the object.
func (u *upload) complete(ctx context.Context, cond storage.If) (etag string, modified time.Time, err error) {
	again := false
	out, err := u.s.CompleteMultipartUpload(context.WithValue(ctx, againKey{}, &again), &s3.CompleteMultipartUploadInput{
		Bucket: &u.at.Bucket, Key: &u.at.Name, UploadId: &u.id, RequestPayer: u.payer,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts},
		IfMatch:         quoted(cond.Version), IfNoneMatch: absent(cond),
	})
	if err == nil {
		return version(out.ETag), dateOf(out.ResultMetadata), nil
	}
	if again && codeOf(err) == "NoSuchUpload" { // it may have been completed before, and the answer lost
		if conditional(cond) {
			return "", time.Time{}, storage.ErrPrecondition
		}
		if info, there := u.Stat(ctx, u.at); there == nil && info.Version == u.etag() {
			return info.Version, info.Modified, nil
		}
	}
	return "", time.Time{}, err
}

// etag is what S3 makes of those of the parts.
func (u *upload) etag() string {
	hash := md5.New()
	for _, part := range u.parts {
		sum, err := hex.DecodeString(version(part.ETag))
		if err != nil {
			return "" // of a store with other ones
		}
		hash.Write(sum)
	}
	return fmt.Sprintf("%x-%d", hash.Sum(nil), len(u.parts))
}

func (u *upload) abort(ctx context.Context) error {
	_, err := u.s.AbortMultipartUpload(ctx,
		&s3.AbortMultipartUploadInput{Bucket: &u.at.Bucket, Key: &u.at.Name, UploadId: &u.id, RequestPayer: u.payer})
	if codeOf(err) == "NoSuchUpload" {
		return nil
	}
	return fail(ctx, u.at, err)
}

// discard ends the upload, if there is one, after err, also when the context is done.
func (u *upload) discard(ctx context.Context, err error) error {
	if u.id == "" {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	if stays := u.abort(ctx); stays != nil {
		return fmt.Errorf("%w; its unfinished upload stays: %w", err, stays)
	}
	return err
}

func conditional(cond storage.If) bool { return cond.Absent || cond.Version != "" }

func absent(cond storage.If) *string {
	if !cond.Absent {
		return nil
	}
	return aws.String("*")
}

func (u *upload) contentType() *string { return aws.String(bucket.ContentType(u.at.Name)) }

// dateOf is the store's time of an answer: what is written has no other stamp.
func dateOf(answer middleware.Metadata) time.Time {
	date, _ := awsmiddleware.GetServerTime(answer)
	return date
}

// writer sends a part while the next one is written.
type writer struct {
	upload
	ctx  context.Context
	part []byte     // being written
	idle []byte     // the memory of the next
	busy chan error // receives what became of the part on its way; nil if none is
	size int64
	err  error // the first
}

// Write collects parts.
func (w *writer) Write(p []byte) (n int, err error) {
	for len(p) > 0 && w.err == nil {
		if len(w.part) == partSize(len(w.parts)) {
			w.err = w.send()
			continue
		}
		taken := min(len(p), partSize(len(w.parts))-len(w.part))
		w.part = append(w.part, p[:taken]...)
		p = p[taken:]
		n += taken
	}
	return n, w.err
}

// send sets the part on its way, once the one before has arrived.
func (w *writer) send() error {
	if w.id == "" {
		if err := w.begin(w.ctx, &s3.CreateMultipartUploadInput{ContentType: w.contentType()}); err != nil {
			return err
		}
	}
	if err := w.wait(); err != nil {
		return err
	}
	data := w.part
	w.part, w.idle = w.idle[:0], data
	w.size += int64(len(data))
	w.parts = append(w.parts, types.CompletedPart{PartNumber: aws.Int32(int32(len(w.parts) + 1))})
	to := &w.parts[len(w.parts)-1]
	number := to.PartNumber
	w.busy = make(chan error, 1)
	go func() {
		out, err := w.s.UploadPart(w.ctx, &s3.UploadPartInput{
			Bucket: &w.at.Bucket, Key: &w.at.Name, UploadId: &w.id, PartNumber: number,
			RequestPayer: w.payer, Body: bytes.NewReader(data),
		})
		if err == nil {
			to.ETag = out.ETag
		}
		w.busy <- fail(w.ctx, w.at, err)
	}()
	return nil
}

// wait returns once no part is on its way.
func (w *writer) wait() error {
	if w.busy == nil {
		return nil
	}
	err := <-w.busy
	w.busy = nil
	return err
}

// Create sends small objects in one request, and others in parts.
func (c *Client) Create(
	ctx context.Context, at bucket.Key, cond storage.If, write func(io.Writer) error,
) (info storage.Info, err error) {
	s, err := c.service(ctx, at)
	if err != nil {
		return storage.Info{}, err
	}
	sending, cancel := context.WithCancel(ctx)
	w := &writer{upload: upload{Client: c, s: s, at: at}, ctx: sending}
	done := false
	defer func() { // also if write does not return
		cancel()
		if !done {
			_ = w.wait()
			err = w.discard(ctx, err)
		}
	}()
	if err := write(w); err != nil {
		return storage.Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return storage.Info{}, err
	}
	if w.err != nil {
		return storage.Info{}, w.err
	}
	if info, err = w.finish(cond); err == nil {
		done = true
		s.there.Store(true)
		return info, nil
	}
	if conditional(cond) && codeOf(err) == "NoSuchKey" { // If-Match of what is not there
		err = storage.ErrPrecondition
	}
	return storage.Info{}, fail(ctx, at, err)
}

// finish makes what was written the object.
func (w *writer) finish(cond storage.If) (storage.Info, error) {
	info := storage.Info{Path: w.at.Name, Size: w.size + int64(len(w.part))}
	if w.id == "" {
		in := &s3.PutObjectInput{
			Bucket: &w.at.Bucket, Key: &w.at.Name, RequestPayer: w.payer, Body: bytes.NewReader(w.part),
			IfMatch: quoted(cond.Version), IfNoneMatch: absent(cond),
		}
		in.ContentType = w.contentType()
		in.ServerSideEncryption, in.SSEKMSKeyId = w.encryption()
		out, err := w.s.PutObject(w.ctx, in)
		if err != nil {
			return storage.Info{}, err
		}
		info.Version, info.Modified = version(out.ETag), dateOf(out.ResultMetadata)
		return info, nil
	}
	if err := errors.Join(w.send(), w.wait()); err != nil {
		return storage.Info{}, err
	}
	var err error
	info.Version, info.Modified, err = w.complete(w.ctx, cond)
	return info, err
}
