// Package nobody lets the program run as a user whom the system does not know, as containers do. Beam asks
// for the user's home folder when it is initialised, and panics if there is no answer. Imported for its effect,
// this package comes first: it depends on os alone.
package nobody

import "os"

func init() {
	for name, value := range map[string]string{"USER": "nobody", "HOME": os.TempDir()} {
		if os.Getenv(name) == "" {
			_ = os.Setenv(name, value) // fails for no such name
		}
	}
}
