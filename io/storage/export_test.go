package storage

// Renew is a heartbeat.
func (l *Lock) Renew() error { return l.Prove(l.ctx) }
