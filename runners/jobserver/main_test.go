package jobserver

import (
	"flag"
	"log/slog"
	"os"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
)

func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	beamlog.SetupLogging("error", "text")
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}
