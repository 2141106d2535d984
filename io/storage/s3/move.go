package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/encoding/httpbinding"
	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/bucket"
)

// Sizes of what one request copies.
var (
	copyBytes     int64 = 5 << 30 // at most
	copyPartBytes int64 = 512 << 20
)

// Move copies an object with its metadata, then deletes the original.
func (c *Client) Move(ctx context.Context, from, to bucket.Key) error {
	s, err := c.service(ctx, from)
	if err != nil {
		return err
	}
	target, err := c.service(ctx, to)
	if err != nil {
		return err
	}
	if from == to {
		_, err := c.head(ctx, s, from)
		return err
	}
	m := &move{Client: c, from: from, to: to, s: s, target: target}
	err = m.whole(ctx)
	if status, _ := response(err); status == http.StatusBadRequest { // it may be too large
		source, headErr := c.head(ctx, s, from)
		if headErr != nil {
			return headErr
		}
		if m.source = source; aws.ToInt64(source.ContentLength) > copyBytes {
			err = m.inParts(ctx)
		}
	}
	if err = m.fail(ctx, err); err != nil {
		return err
	}
	_, err = s.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &from.Bucket, Key: &from.Name, RequestPayer: c.payer})
	if codeOf(err) == "NoSuchKey" {
		return nil
	}
	return fail(ctx, from, err)
}

type move struct {
	*Client
	from, to  bucket.Key
	s, target *service
	source    *s3.HeadObjectOutput // for inParts
}

// name returns the source as a header names it.
func (m *move) name() *string {
	return aws.String(httpbinding.EscapePath(m.from.Bucket+"/"+m.from.Name, false))
}

// whole copies in one request, which suffices for most objects and needs no request for their metadata.
func (m *move) whole(ctx context.Context) error {
	in := &s3.CopyObjectInput{
		Bucket: &m.to.Bucket, Key: &m.to.Name, CopySource: m.name(), RequestPayer: m.payer,
	}
	in.ServerSideEncryption, in.SSEKMSKeyId = m.encryption()
	_, err := m.target.CopyObject(ctx, in)
	return err
}

// fail names the source: S3 does not say which object an error is about, and most errors are about the source.
func (m *move) fail(ctx context.Context, err error) error {
	if err = fail(ctx, m.from, err); err != nil && ctx.Err() == nil {
		return fmt.Errorf("copying to %s: %w", m.to.Path(scheme), err)
	}
	return err
}

// inParts copies an object that is too large for one request, several parts at a time.
func (m *move) inParts(ctx context.Context) (err error) {
	size := aws.ToInt64(m.source.ContentLength)
	const most = 10000
	step := max(copyPartBytes, (size+most-1)/most)
	u := &upload{Client: m.Client, s: m.target, at: m.to}
	h := m.source
	if err := u.begin(ctx, &s3.CreateMultipartUploadInput{
		ContentType: h.ContentType, ContentEncoding: h.ContentEncoding, ContentLanguage: h.ContentLanguage,
		ContentDisposition: h.ContentDisposition, CacheControl: h.CacheControl, Metadata: h.Metadata,
		StorageClass: h.StorageClass,
	}); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = u.discard(ctx, err)
		}
	}()
	u.parts = make([]types.CompletedPart, (size+step-1)/step)
	if err := m.parts(ctx, u, step); err != nil {
		return err
	}
	// A store that ignores the condition may have copied parts of two objects.
	if now, err := m.head(ctx, m.s, m.from); err != nil {
		return err
	} else if version(now.ETag) != version(m.source.ETag) {
		return fail(ctx, m.from, storage.ErrPrecondition)
	}
	_, _, err = u.complete(ctx, storage.If{})
	return fail(ctx, m.to, err)
}

// parts copies the parts, of step bytes each, several at a time.
func (m *move) parts(ctx context.Context, u *upload, step int64) error {
	copies, ctx := errgroup.WithContext(ctx)
	copies.SetLimit(8)
	for i := range u.parts {
		copies.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			from, number := int64(i)*step, aws.Int32(int32(i+1))
			to := min(from+step, aws.ToInt64(m.source.ContentLength))
			out, err := m.target.UploadPartCopy(ctx, &s3.UploadPartCopyInput{
				Bucket: &m.to.Bucket, Key: &m.to.Name, UploadId: &u.id, PartNumber: number, RequestPayer: m.payer,
				CopySource: m.name(), CopySourceIfMatch: m.source.ETag,
				CopySourceRange: aws.String(fmt.Sprintf("bytes=%d-%d", from, to-1)),
			})
			if err == nil && out.CopyPartResult == nil {
				err = errors.New("the response to the copy of a part is empty")
			}
			if err != nil {
				return err
			}
			u.parts[i] = types.CompletedPart{PartNumber: number, ETag: out.CopyPartResult.ETag}
			return nil
		})
	}
	return copies.Wait()
}
