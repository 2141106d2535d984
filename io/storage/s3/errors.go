package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/bucket"
)

const regionHeader = "X-Amz-Bucket-Region"

// noCredentialsError says that requests cannot be signed. If there were credentials before, their source may answer
// again.
type noCredentialsError struct {
	err    error
	before bool // there were credentials
}

func (e *noCredentialsError) Error() string { return e.err.Error() }

// configError is a mistake in the environment, in a profile or in a flag about the store.
type configError struct{ err error }

func (e *configError) Error() string { return e.err.Error() }

// response returns the status and headers of the store's answer; 0 if there was none.
func response(err error) (int, http.Header) {
	var r *smithyhttp.ResponseError
	if errors.As(err, &r) && r.Response != nil {
		return r.HTTPStatusCode(), r.Response.Header
	}
	return 0, nil
}

// codeOf returns the store's own code for an error.
func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// operation returns the name of the request that failed.
func operation(err error) string {
	var o *smithy.OperationError
	if errors.As(err, &o) {
		return o.OperationName
	}
	return "a request"
}

// permissions are the permissions that requests need, by operation.
var permissions = map[string]string{
	"ListObjectsV2": "s3:ListBucket", "HeadObject": "s3:GetObject", "GetObject": "s3:GetObject",
	"DeleteObject": "s3:DeleteObject",
	"PutObject":    "s3:PutObject", "CopyObject": "s3:GetObject and s3:PutObject",
	"UploadPartCopy":        "s3:GetObject and s3:PutObject",
	"CreateMultipartUpload": "s3:PutObject", "UploadPart": "s3:PutObject", "CompleteMultipartUpload": "s3:PutObject",
	"ListMultipartUploads": "s3:ListBucketMultipartUploads", "AbortMultipartUpload": "s3:AbortMultipartUpload",
}

// fail says what went wrong with an object, and what to do about it. If ctx is done, it returns the error of ctx.
func fail(ctx context.Context, at bucket.Key, err error) error {
	if err == nil {
		return nil
	}
	if done := ctx.Err(); done != nil {
		return done
	}
	var before *bucket.Failure
	if errors.As(err, &before) {
		return err
	}
	status, header := response(err)
	code := codeOf(err)
	text := at.Path(scheme) + ": " + reason(err, code, status)
	next, lasts := advice(err, code, status, header)
	if next != "" {
		text += "; " + next
	}
	failed := &bucket.Failure{
		Text: text, Kind: kind(err, code, status), Missing: status == http.StatusNotFound || code == "NoSuchBucket",
	}
	if lasts {
		return bucket.Lasting(failed)
	}
	return failed
}

// kind returns the error that errors.Is should find, or nil.
func kind(err error, code string, status int) error {
	switch {
	case code == "NoSuchBucket":
		return nil
	case code == "NoSuchKey":
		return fs.ErrNotExist
	case status == http.StatusPreconditionFailed, code == "ConditionalRequestConflict",
		errors.Is(err, storage.ErrPrecondition):
		return storage.ErrPrecondition
	case status == http.StatusForbidden:
		return fs.ErrPermission
	case status == http.StatusNotImplemented, errors.Is(err, errors.ErrUnsupported):
		return errors.ErrUnsupported
	}
	return nil
}

// reason returns what the store said, or why it said nothing.
func reason(err error, code string, status int) string {
	var api smithy.APIError
	var sent *url.Error // holds the URL
	text := storage.Plain(err)
	switch {
	case errors.As(err, &api) && status > 0:
		text = fmt.Sprintf("%s: %s (HTTP %d to %s)", code, strings.TrimSuffix(api.ErrorMessage(), "."),
			status, operation(err))
	case errors.As(err, &api):
		text = fmt.Sprintf("%s: %s", code, api.ErrorMessage())
	case errors.As(err, &sent):
		text = storage.Plain(sent.Err)
	case status > 0:
		text = fmt.Sprintf("the response (HTTP %d) cannot be read: %s", status, text)
	}
	return bucket.OneLine(text)
}

// advice returns what to do next, or "" if that is not known, and whether the error lasts until that is done.
func advice(err error, code string, status int, header http.Header) (next string, lasts bool) {
	var none *noCredentialsError
	var config *configError
	switch {
	case errors.As(err, &config):
		return "check AWS_PROFILE, AWS_CA_BUNDLE, --store-endpoint s3=URL and AWS_ENDPOINT_URL_S3", true
	case errors.As(err, &none):
		const give = "there are no credentials; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign " +
			"in with aws sso login"
		return give, !none.before
	case bucket.Unreached(err):
		const check = "check the network, the region, and the endpoint (--store-endpoint s3=URL or AWS_ENDPOINT_URL_S3) " +
			"if the store is not on AWS"
		return check, bucket.Unknown(err)
	}
	if next = bucket.Insecure(err, "AWS_CA_BUNDLE"); next == "" {
		next = answered(err, code, status, header)
	}
	return next, next != ""
}

// answered returns what to do about an answer of the store; "" if the error may pass.
func answered(err error, code string, status int, header http.Header) string {
	switch code {
	case "NoSuchBucket", "InvalidBucketName":
		return "check the name of the bucket, and AWS_ENDPOINT_URL_S3 if the store is not on AWS"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch":
		return "check the credentials: AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	case "ExpiredToken", "InvalidToken", "TokenRefreshRequired":
		return "the credentials have expired; get new ones, for example with aws sso login"
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "MovedPermanently":
		if region := header.Get(regionHeader); region != "" {
			return "the bucket is in another region; set AWS_REGION=" + region
		}
		return "the bucket is in another region; set AWS_REGION"
	case "RequestTimeTooSkewed":
		return "correct the clock of this machine"
	case "InvalidObjectState":
		return "the object is archived; restore it first"
	}
	// A removal that expired was too late, and may succeed the next time.
	expired := strings.Contains(reason(err, code, status), "has expired")
	if (status == http.StatusForbidden || status == http.StatusUnauthorized) && !expired {
		check := "check what these credentials may do (aws sts get-caller-identity says whose they are)"
		if needed, ok := permissions[operation(err)]; ok {
			check += ": " + operation(err) + " needs " + needed
		}
		return check
	}
	return ""
}
