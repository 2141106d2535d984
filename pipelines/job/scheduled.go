package job

// Scheduled is what schedulers say of a job, whatever runs it.
type Scheduled struct {
	JobName string `placeholder:"NAME" help:"Name of the job, for a cluster and for --lineage-file; Dataflow accepts lower-case letters, digits and hyphens (default: neardup; on Dataflow, with random letters)." group:"Running"`
}
