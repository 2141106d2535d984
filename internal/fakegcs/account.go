package fakegcs

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
)

// Account writes the key file of a service account whose tokens come from a URL, and returns the file's name and the
// key in it.
func Account(t testing.TB, project, tokens string) (file, key string) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	key = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": project, "private_key_id": "1",
		"client_email": "a@" + project + ".iam.gserviceaccount.com",
		"client_id":    "1", "private_key": key, "token_uri": tokens,
	})
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, key
}
