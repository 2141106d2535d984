package main

import (
	"strings"
	"testing"
)

// Workers get the region of the launcher's environment, which theirs may lack, and the project that pays.
func TestRegionTold(t *testing.T) {
	told, tell := "", tellStores
	tellStores = func(text string) error {
		told = text
		return nil
	}
	t.Cleanup(func() {
		tellStores = tell
		storeFlags{}.register()
	})
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		t.Setenv("AWS_REGION", "")
		t.Setenv("AWS_DEFAULT_REGION", "")
		if told = ""; (storeFlags{}).use() != nil || told != "" {
			t.Errorf("without a region they hear %q", told)
		}
		t.Setenv(name, "eu-west-1")
		if err := (storeFlags{}).use(); err != nil || !strings.Contains(told, `"S3Region":"eu-west-1"`) {
			t.Errorf("%s: they hear %q, %v", name, told, err)
		}
	}
	t.Setenv("GOOGLE_CLOUD_QUOTA_PROJECT", "payer")
	for pays, want := range map[bool]string{true: `"GSProject":"payer"`, false: `"GSProject":""`} {
		if err := (storeFlags{RequesterPays: pays}).use(); err != nil || !strings.Contains(told, want) {
			t.Errorf("requester pays: %t: they hear %q, %v", pays, told, err)
		}
	}
}
