package blocks

import (
	"fmt"
	"strings"
)

// refused begins the text of a refusal. Runners pass on only the text of a step's error.
const refused = "refused: "

// Refuse returns the error of a step that cannot do what the user asked, and that would fail again on each retry.
func Refuse(format string, args ...any) error { return fmt.Errorf(refused+format, args...) }

// Refusal returns the reason in the text of a step's error. ok is false if the error is not a refusal.
func Refusal(text string) (reason string, ok bool) { return strings.CutPrefix(text, refused) }
