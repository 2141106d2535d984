package local

import (
	"maps"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
)

// collector sums up the counts of DoFns. It is safe for concurrent use.
type collector struct {
	names map[string]string

	mu            sync.Mutex
	counters      map[metrics.StepKey]int64
	distributions map[metrics.StepKey]metrics.DistributionValue
	gauges        map[metrics.StepKey]metrics.GaugeValue
}

func newCollector(names map[string]string) *collector {
	return &collector{
		names:         names,
		counters:      map[metrics.StepKey]int64{},
		distributions: map[metrics.StepKey]metrics.DistributionValue{},
		gauges:        map[metrics.StepKey]metrics.GaugeValue{},
	}
}

// add adds the counts of one instance of a stage.
func (c *collector) add(s *metrics.Store) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = metrics.Extractor{ // its only error is that nothing was asked for
		SumInt64: func(l metrics.Labels, v int64) { c.counters[c.key(l)] += v },
		DistributionInt64: func(l metrics.Labels, count, sum, smallest, largest int64) {
			d, ok := c.distributions[c.key(l)]
			if ok {
				smallest, largest = min(d.Min, smallest), max(d.Max, largest)
			}
			c.distributions[c.key(l)] = metrics.DistributionValue{Count: d.Count + count,
				Sum: d.Sum + sum, Min: smallest, Max: largest}
		},
		GaugeInt64: func(l metrics.Labels, v int64, at time.Time) {
			if g, ok := c.gauges[c.key(l)]; !ok || at.After(g.Timestamp) {
				c.gauges[c.key(l)] = metrics.GaugeValue{Value: v, Timestamp: at}
			}
		},
	}.ExtractFrom(s)
}

func (c *collector) key(l metrics.Labels) metrics.StepKey {
	return metrics.StepKey{Step: c.names[l.Transform()], Namespace: l.Namespace(), Name: l.Name()}
}

// and returns a collector with the counts of c and of stores.
func (c *collector) and(stores []*metrics.Store) *collector {
	all := newCollector(c.names)
	c.mu.Lock()
	maps.Copy(all.counters, c.counters)
	maps.Copy(all.distributions, c.distributions)
	maps.Copy(all.gauges, c.gauges)
	c.mu.Unlock()
	for _, s := range stores {
		all.add(s)
	}
	return all
}

// results returns the counts so far in Beam's form. All are committed, because a bundle that fails fails the pipeline.
func (c *collector) results() metrics.Results {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *metrics.NewResults(
		metrics.MergeCounters(c.counters, c.counters),
		metrics.MergeDistributions(c.distributions, c.distributions),
		metrics.MergeGauges(c.gauges, c.gauges),
		nil, nil)
}
