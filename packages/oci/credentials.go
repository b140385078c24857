package oci

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/tenetcm/tenet/lang/diag"
)

// CredentialFiles lists where podman and docker keep credentials, in the order in which podman looks: see containers-auth.json(5).
// getenv gives variables of the environment.
func CredentialFiles(getenv func(string) string) []string {
	if file := getenv("REGISTRY_AUTH_FILE"); file != "" {
		return []string{file}
	}
	home := getenv("HOME")
	var files []string
	add := func(dir string, more ...string) {
		if dir != "" {
			files = append(files, filepath.Join(append([]string{dir}, more...)...))
		}
	}
	add(getenv("XDG_RUNTIME_DIR"), "containers", "auth.json")
	if config := getenv("XDG_CONFIG_HOME"); config != "" {
		add(config, "containers", "auth.json")
	} else {
		add(home, ".config", "containers", "auth.json")
	}
	if config := getenv("DOCKER_CONFIG"); config != "" {
		add(config, "config.json")
	} else {
		add(home, ".docker", "config.json")
	}
	return files
}

// credentials gives what is known of a registry. Files that are not there know nothing.
func (c *Client) credentials(ref Reference) (auth.CredentialFunc, error) {
	var stores []credentials.Store
	for _, file := range c.CredentialFiles {
		store, err := credentials.NewStore(file, credentials.StoreOptions{})
		if err != nil {
			return nil, &diag.HintError{Code: "credentials", Message: fmt.Sprintf("credentials of registries cannot be read: %s: %v", file, err),
				Hint: "mend or remove the file: docker login or podman login writes it anew"}
		}
		stores = append(stores, store)
	}
	asked := registry.Reference{Registry: ref.Registry}.Host()
	return func(ctx context.Context, host string) (auth.Credential, error) {
		if host != asked { // credentials are for the registry, and for nobody whom it names
			return auth.EmptyCredential, nil
		}
		for _, store := range stores {
			for _, name := range credentialNames(ref) {
				credential, err := store.Get(ctx, name)
				if err != nil {
					return auth.EmptyCredential, fmt.Errorf("credentials of %s: %w", ref.Registry, err)
				}
				if credential != auth.EmptyCredential {
					return credential, nil
				}
			}
		}
		return auth.EmptyCredential, nil
	}, nil
}

// credentialNames are the keys of a registry, the most exact first: podman knows them for a part of it, too.
func credentialNames(ref Reference) []string {
	var names []string
	for name := ref.Registry + "/" + ref.Repository; strings.Contains(name, "/"); name = name[:strings.LastIndexByte(name, '/')] {
		names = append(names, name)
	}
	return append(names, credentials.ServerAddressFromRegistry(ref.Registry))
}
