// Package oci keeps packages in registries of containers: an archive is the one layer of an OCI artifact (OCI 1.1, image-spec "Guidelines for
// Artifact Usage"), versions are tags, and signatures refer to the artifact they sign.
//
// A registry is not trusted. What it answers has a limit and a time to come in, and counts only if it fits the digest that was asked for or that a
// manifest has named. Whoever needs to know who made a package looks at its signatures (package signature).
package oci

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// Types of what a registry keeps.
const (
	PackageType   = "application/vnd.tenet.package.v1"
	LayerType     = "application/vnd.tenet.package.v1.tar+zstd"
	SignatureType = "application/vnd.tenet.signature.v1"
	sshsigType    = "application/vnd.tenet.signature.v1.sshsig"
)

// AnnotationDigest names the digest of the archive's tar, in the annotations of a package's manifest and of its layer.
const AnnotationDigest = "io.github.tenetcm.package.digest"

// AnnotationKey names the fingerprint of the key that has made a signature ("SHA256:…"), in the annotations of its manifest. Whoever may write to the registry may write any: it tells only which to
// look at first.
const AnnotationKey = "io.github.tenetcm.signature.key"

// Limits of what a registry answers.
const (
	maxManifest   = 256 << 10
	maxMetadata   = 1 << 20 // of a page of tags or of an index of signatures
	maxPages      = 50
	maxTags       = 10000
	maxLayer      = 257 << 20 // archives that are larger could not be extracted
	maxSignature  = 64 << 10
	maxSignatures = 64
	maxUnusable   = 5 // of which is told why
)

// Client pulls and pushes. Its zero value knows no credentials.
type Client struct {
	// CredentialFiles are files as docker and podman keep them, of which the first counts that knows a registry; see CredentialFiles.
	CredentialFiles []string
	// PlainHTTP takes HTTP for all registries; without it only those at a loopback address are asked so.
	PlainHTTP bool
	// Transport carries requests; nil: one of its own, with the proxy of the environment.
	Transport http.RoundTripper
	// Timeout is how long one call may take altogether; 0: ten minutes.
	Timeout time.Duration
}

// withTimeout bounds the time of a call.
func (c *Client) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = 10 * time.Minute
	}
	return context.WithTimeout(ctx, timeout)
}

// repository gives a way to a repository, for one call.
func (c *Client) repository(ref Reference) (*remote.Repository, error) {
	credential, err := c.credentials(ref)
	if err != nil {
		return nil, err
	}
	client := &auth.Client{
		Client:     c.httpClient(ref),
		Header:     http.Header{"User-Agent": {"tenet"}},
		Credential: credential,
		Cache:      auth.NewCache(),
	}
	if isLoopback(ref.Registry) {
		client.BlockedRealmPrefixes = []netip.Prefix{} // tokens may come from this machine, too
	}
	return &remote.Repository{
		Client:               client,
		Reference:            registry.Reference{Registry: ref.Registry, Repository: ref.Repository},
		PlainHTTP:            c.plain(ref),
		MaxMetadataBytes:     maxMetadata,
		TagListMaxPages:      maxPages,
		ReferrerListMaxPages: maxPages,
		SkipReferrersGC:      true, // many registries let nobody delete
	}, nil
}

func (c *Client) plain(ref Reference) bool { return c.PlainHTTP || isLoopback(ref.Registry) }

// isLoopback reports whether a host, which may have a port, is this machine.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
