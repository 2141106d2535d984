package fakes3

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	algorithm = "AWS4-HMAC-SHA256"
	unsigned  = "UNSIGNED-PAYLOAD"
	dateForm  = "20060102T150405Z"
)

// verify checks the signature of a request ("Authenticating Requests (AWS Signature Version 4)"), in the header or, if
// presigned, in the query, including its time and the hash of the body. It reports whether the request is signed.
func (s *Server) verify(r *http.Request, body []byte) (signed bool, f *failure) {
	query := r.URL.Query()
	credential, names, signature, date := query.Get("X-Amz-Credential"), query.Get("X-Amz-SignedHeaders"),
		query.Get("X-Amz-Signature"), query.Get("X-Amz-Date")
	presigned := signature != ""
	if !presigned {
		value := r.Header.Get("Authorization")
		if value == "" {
			return false, nil
		}
		fields := map[string]string{}
		for field := range strings.SplitSeq(strings.TrimPrefix(value, algorithm+" "), ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
			fields[name] = value
		}
		credential, names, signature, date = fields["Credential"], fields["SignedHeaders"],
			fields["Signature"], r.Header.Get("X-Amz-Date")
	}
	hash := cmp.Or(r.Header.Get("X-Amz-Content-Sha256"), unsigned)
	if hash != unsigned {
		if sum := sha256.Sum256(body); hash != hex.EncodeToString(sum[:]) {
			return false, fail(400, "XAmzContentSHA256Mismatch",
				"The provided 'x-amz-content-sha256' header does not match what was computed.")
		}
	}
	if f := s.inTime(date, query.Get("X-Amz-Expires"), presigned); f != nil {
		return false, f
	}
	scope := strings.Split(credential, "/") // key, day, region, service, aws4_request
	if len(scope) != 5 || scope[3] != "s3" || scope[1] != date[:8] {
		return false, fail(400, "AuthorizationHeaderMalformed", "The authorization header is malformed.")
	}
	if scope[0] != AccessKey {
		return false, fail(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
	}
	if scope[2] != s.Region {
		f := fail(400, "AuthorizationHeaderMalformed",
			"The authorization header is malformed; the region '%s' is wrong; expecting '%s'", scope[2], s.Region)
		f.Region = s.Region
		return false, f
	}
	query.Del("X-Amz-Signature")
	headers, f := canonicalHeaders(r, strings.Split(names, ";"))
	if f != nil {
		return false, f
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	canonical := strings.Join([]string{r.Method, path, canonicalQuery(query), headers, names, hash}, "\n")
	sum := sha256.Sum256([]byte(canonical))
	text := strings.Join([]string{algorithm, date, strings.Join(scope[1:], "/"), hex.EncodeToString(sum[:])}, "\n")
	key := []byte("AWS4" + SecretKey)
	for _, part := range append(scope[1:], text) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	if hex.EncodeToString(key) != signature {
		return false, fail(403, "SignatureDoesNotMatch",
			"The request signature we calculated does not match the signature you provided. Check your key and signing method.")
	}
	return true, nil
}

// inTime checks the time at which a request was signed, by the clock of the store.
func (s *Server) inTime(date, expires string, presigned bool) *failure {
	at, err := time.Parse(dateForm, date)
	if err != nil {
		return fail(403, "AccessDenied", "AWS authentication requires a valid Date or x-amz-date header")
	}
	age := s.now().Sub(at)
	if age < -15*time.Minute || !presigned && age > 15*time.Minute {
		return fail(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.")
	}
	if seconds, err := strconv.Atoi(expires); presigned && (err != nil || seconds < 1 || seconds > 7*24*3600) {
		return fail(400, "AuthorizationQueryParametersError", "X-Amz-Expires must be a number of seconds, at most a week")
	} else if presigned && age >= time.Duration(seconds)*time.Second {
		return fail(403, "AccessDenied", "Request has expired")
	}
	return nil
}

// canonicalHeaders returns the signed headers. Headers that change the meaning of a request must be among them.
func canonicalHeaders(r *http.Request, names []string) (string, *failure) {
	for key := range r.Header {
		lower := strings.ToLower(key)
		if must := strings.HasPrefix(lower, "x-amz-") || strings.HasPrefix(lower, "if-") ||
			lower == "range"; must && !slices.Contains(names, lower) {
			return "", fail(403, "AccessDenied", "There were headers present in the request which were not signed: %s", lower)
		}
	}
	var b strings.Builder
	for _, name := range names {
		values := r.Header.Values(name)
		switch name {
		case "host":
			values = []string{r.Host}
		case "content-length":
			values = []string{strconv.FormatInt(r.ContentLength, 10)}
		}
		trimmed := make([]string, len(values))
		for i, value := range values {
			trimmed[i] = strings.Join(strings.Fields(value), " ")
		}
		b.WriteString(name + ":" + strings.Join(trimmed, ",") + "\n")
	}
	return b.String(), nil
}

func canonicalQuery(query url.Values) string {
	return strings.ReplaceAll(query.Encode(), "+", "%20")
}
