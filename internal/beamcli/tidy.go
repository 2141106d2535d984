package beamcli

import "os"

// Tidy gives this process its own folder for temporary files until tidy is called, which removes it. For each job that
// Prism runs in its own process, Beam's SDK makes a file beamloopbackworker-*, and leaves it.
func Tidy() (tidy func() error, err error) {
	const variable = "TMPDIR"
	before, given := os.LookupEnv(variable)
	dir, err := os.MkdirTemp("", "neardup-")
	if err != nil {
		return nil, err
	}
	if err := os.Setenv(variable, dir); err != nil {
		return nil, err
	}
	return func() error {
		if given {
			_ = os.Setenv(variable, before)
		} else {
			_ = os.Unsetenv(variable)
		}
		return os.RemoveAll(dir)
	}, nil
}
