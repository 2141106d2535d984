package job

// Scheduled holds what schedulers set for a job on any runner.
type Scheduled struct {
	JobName string `placeholder:"NAME" help:"Name of the job, for a cluster and for --lineage-file; Dataflow accepts lower-case letters, digits and hyphens (default: neardup; on Dataflow, with random letters)." group:"Running"`
}
