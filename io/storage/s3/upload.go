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

// partBytes is the size of the first parts of an upload. A smaller object takes one request.
var partBytes = 8 << 20

// partSize returns the size of the part after n others. It doubles every 1,000 parts, so that S3's maximum of 10,000
// parts holds its maximum of 5 TB while memory stays small: 8 MiB up to 8 GB, 64 MiB at 100 GB.
func partSize(n int) int { return partBytes << (n / 1000) }

// abortTime is how long to try to end a failed upload.
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

// complete makes the object from the parts.
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
	if again && codeOf(err) == "NoSuchUpload" { // an earlier try may have completed it, and the answer was lost
		if conditional(cond) {
			return "", time.Time{}, storage.ErrPrecondition
		}
		if info, there := u.Stat(ctx, u.at); there == nil && info.Version == u.etag() {
			return info.Version, info.Modified, nil
		}
	}
	return "", time.Time{}, err
}

// etag returns the ETag that S3 computes from those of the parts.
func (u *upload) etag() string {
	hash := md5.New()
	for _, part := range u.parts {
		sum, err := hex.DecodeString(version(part.ETag))
		if err != nil {
			return "" // of a store with other ETags
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

// discard ends the upload, if there is one, after err, even if the context is done.
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

// dateOf returns the store's time of an answer, the only time it gives for a new object.
func dateOf(answer middleware.Metadata) time.Time {
	date, _ := awsmiddleware.GetServerTime(answer)
	return date
}

// writer sends one part while the next is written.
type writer struct {
	upload
	ctx  context.Context
	part []byte     // being written
	idle []byte     // memory for the next part
	busy chan error // receives the result of the part being sent; nil if there is none
	size int64
	err  error // the first error
}

// Write collects parts and sends them.
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

// send starts to send the part, once the one before has arrived.
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

// wait returns once no part is being sent.
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
	defer func() { // even if write does not return
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
	if conditional(cond) && codeOf(err) == "NoSuchKey" { // If-Match for a missing object
		err = storage.ErrPrecondition
	}
	return storage.Info{}, fail(ctx, at, err)
}

// finish makes the object from what was written.
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
