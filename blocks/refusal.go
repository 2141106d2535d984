package blocks

import (
	"fmt"
	"strings"
)

// refused begins the text of a refusal: of a step's error, runners pass on no more than its text.
const refused = "refused: "

// Refuse returns the error of a step that cannot do what the user asked, however often it is tried.
func Refuse(format string, args ...any) error { return fmt.Errorf(refused+format, args...) }

// Refusal returns the reason of a refusal, if the text of a step's error is that of one.
func Refusal(text string) (reason string, ok bool) { return strings.CutPrefix(text, refused) }
