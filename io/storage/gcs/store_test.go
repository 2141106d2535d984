package gcs

import (
	"fmt"
	"testing"

	"github.com/neardup/neardup/internal/fakegcs"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/bucket"
	"github.com/neardup/neardup/io/storage/storagetest"
)

// TestStore checks what package storage promises, with and without objects.move, and with short pages.
func TestStore(t *testing.T) {
	for i, fake := range []*fakegcs.Server{fakegcs.New("b"), fakegcs.New("b")} {
		if i > 0 {
			fake.PageSize, fake.NoMove, fake.RewriteBytes = 2, 400, 1
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			scheme := fmt.Sprintf("gs%d://", i)
			storage.Register(scheme, bucket.New(scheme, serve(t, fake, nil, Options{})))
			storagetest.Run(t, scheme+"b/folder", storagetest.Lacks{})
			if fake.Unfinished() != 0 {
				t.Errorf("%d uploads left", fake.Unfinished())
			}
		})
	}
}
