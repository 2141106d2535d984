package storage

import "time"

// Renew is a heartbeat.
func (l *Lock) Renew() error { return l.Prove(l.ctx) }

// Later makes it some time since a shared file was asked for.
func Later(path string) {
	shared.Lock()
	defer shared.Unlock()
	if last, ok := shared.there[path]; ok {
		shared.there[path] = last.Add(-askEvery - time.Nanosecond)
	}
}
