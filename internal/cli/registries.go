package cli

import "github.com/tenetcm/tenet/packages/oci"

// registries gives a way to registries, with the credentials that docker and podman keep for this user.
func (s *client) registries(plainHTTP bool) *oci.Client {
	return &oci.Client{CredentialFiles: oci.CredentialFiles(s.getenv), PlainHTTP: plainHTTP}
}
