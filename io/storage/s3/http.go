package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/bucket"
)

// Maximum times for which a connection may be silent.
var (
	idle = 30 * time.Second
	// A store may copy gigabytes, or put parts together, before it answers.
	long = 10 * time.Minute
)

const attempts = 8

var maxBackoff = 20 * time.Second

// patience ends requests whose connection is silent.
type patience struct {
	aws.HTTPClient
	answered *atomic.Bool
}

// Do sends a request. It waits longer for a POST or a copy.
func (p patience) Do(r *http.Request) (*http.Response, error) {
	wait := idle
	if r.Method == http.MethodPost || r.Header.Get("X-Amz-Copy-Source") != "" {
		wait = long
	}
	answer, err := bucket.Send(r, wait, p.HTTPClient.Do)
	if err == nil {
		p.answered.Store(true)
	}
	return answer, err
}

// retryer counts the requests that are sent again.
type retryer struct {
	*retry.Standard
	answered *atomic.Bool
}

func newRetryer(answered *atomic.Bool) retryer {
	return retryer{retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff = attempts, maxBackoff
		o.RateLimiter = ratelimit.None // attempts are bounded, whatever happens to other requests
		lasts := retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
			if bucket.Insecure(err, "") != "" {
				return aws.FalseTernary
			}
			return aws.UnknownTernary
		})
		o.Retryables = append([]retry.IsErrorRetryable{lasts}, append(o.Retryables,
			retry.RetryableHTTPStatusCode{Codes: map[int]struct{}{http.StatusTooManyRequests: {}}},
			retry.RetryableErrorCode{Codes: map[string]struct{}{"OperationAborted": {}}},
			retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
				if errors.Is(err, io.ErrUnexpectedEOF) { // in a body that the SDK reads
					return aws.TrueTernary
				}
				return aws.UnknownTernary
			}))...)
	}), answered}
}

// RetryDelay is called before each retry, with the number of the failed try.
func (r retryer) RetryDelay(try int, err error) (time.Duration, error) {
	delay, none := r.Standard.RetryDelay(try, err)
	if none != nil {
		return 0, none
	}
	if !r.answered.Load() {
		if try >= bucket.FirstTries {
			return 0, err
		}
		delay = min(time.Duration(try)*time.Second/2, maxBackoff)
	}
	storage.Retried(err)
	return delay, nil
}

// GetRetryToken is called before each retry.
func (r retryer) GetRetryToken(ctx context.Context, err error) (func(error) error, error) {
	if again, ok := ctx.Value(againKey{}).(*bool); ok {
		*again = true
	}
	return r.Standard.GetRetryToken(ctx, err)
}

type againKey struct{}

// valid is how long a request that expires may take to arrive.
const valid = time.Minute

// expires signs a request so that the store, by its own clock, refuses it after until.
func expires(until time.Time) func(*s3.Options) {
	return func(o *s3.Options) {
		sign := func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
			out middleware.FinalizeOutput, meta middleware.Metadata, err error,
		) {
			r := in.Request.(*smithyhttp.Request)
			credentials, err := o.Credentials.Retrieve(ctx)
			if err != nil {
				return out, meta, &noCredentialsError{err, true}
			}
			for _, header := range []string{"Authorization", "X-Amz-Date", "X-Amz-Content-Sha256", "X-Amz-Security-Token"} {
				r.Header.Del(header)
			}
			query := r.URL.Query()
			query.Set("X-Amz-Expires", fmt.Sprint(int(valid/time.Second)))
			r.URL.RawQuery = query.Encode()
			signed, header, err := v4.NewSigner().PresignHTTP(ctx, credentials, r.Request, "UNSIGNED-PAYLOAD", "s3",
				o.Region, until.Add(-valid).UTC(),
				func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
			if err != nil {
				return out, meta, err
			}
			if r.URL, err = url.Parse(signed); err != nil {
				return out, meta, errors.New("the signed URL cannot be parsed") // it is a secret
			}
			// Headers that were moved into the URL must not be sent again.
			for key := range r.Header {
				if _, ok := header[key]; !ok && strings.HasPrefix(key, "X-Amz-") {
					r.Header.Del(key)
				}
			}
			return next.HandleFinalize(ctx, in)
		}
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("Expires", sign), "Signing", middleware.After)
		})
	}
}
