package jobserver

import "fmt"

func (j *job) explain(text string) error {
	return fmt.Errorf("job %s failed:\n%s", j.id, text)
}
