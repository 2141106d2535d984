package jobserver

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
)

// optionURN returns the name by which servers know a pipeline option.
func optionURN(name string) string { return "beam:option:" + name + ":v1" }

// optionName returns an option's name in the form of servers, for execution-mode-for-batch as for
// executionModeForBatch.
func optionName(name string) string {
	return strings.ToLower(wordOrHyphen.ReplaceAllString(name, "_$1"))
}

var wordOrHyphen = regexp.MustCompile(`([A-Z])|-`)

// checkOptions converts the runner's options to their types, and refuses those that the server does not know, because
// it would ignore them silently.
func (s *Server) checkOptions(ctx context.Context) error {
	if len(s.options.Runner) == 0 {
		return nil
	}
	described, err := s.client.DescribePipelineOptions(ctx, &jobpb.DescribePipelineOptionsRequest{})
	if err != nil {
		return fmt.Errorf("the job server at %s does not list its options: %s", s.options.Address,
			status.Convert(err).Message())
	}
	types := map[string]jobpb.PipelineOptionType_Enum{}
	for _, o := range described.GetOptions() {
		types[optionName(o.GetName())] = o.GetType()
	}
	s.runner = map[string]*structpb.Value{}
	for given, text := range s.options.Runner {
		name := optionName(given)
		kind, ok := types[name]
		if !ok {
			return fmt.Errorf("the job server at %s has no option %q; it has %s", s.options.Address, given,
				strings.Join(slices.Sorted(maps.Keys(types)), ", "))
		}
		if s.runner[name], err = optionValue(kind, text); err != nil {
			return fmt.Errorf("option %s: %w", given, err)
		}
	}
	return nil
}

// optionValue converts text to the value of an option of this type.
func optionValue(kind jobpb.PipelineOptionType_Enum, text string) (*structpb.Value, error) {
	switch kind {
	case jobpb.PipelineOptionType_BOOLEAN:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("%q is neither true nor false", text)
		}
		return structpb.NewBoolValue(b), nil
	case jobpb.PipelineOptionType_INTEGER:
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not an integer", text)
		}
		return structpb.NewNumberValue(float64(n)), nil
	case jobpb.PipelineOptionType_NUMBER:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) { // JSON has neither
			return nil, fmt.Errorf("%q is not a number", text)
		}
		return structpb.NewNumberValue(n), nil
	case jobpb.PipelineOptionType_ARRAY:
		var values []any
		for value := range strings.SplitSeq(text, ",") {
			values = append(values, value)
		}
		list, err := structpb.NewList(values)
		return structpb.NewListValue(list), err
	case jobpb.PipelineOptionType_OBJECT:
		v := &structpb.Value{}
		if err := v.UnmarshalJSON([]byte(text)); err != nil {
			return nil, fmt.Errorf("%q is not JSON: %w", text, err)
		}
		return v, nil
	default:
		return structpb.NewStringValue(text), nil
	}
}
