package oci

import (
	"fmt"
	"regexp"
	"strings"

	"oras.land/oras-go/v2/registry"

	"github.com/tenetcm/tenet/lang/diag"
)

// Scheme begins each reference.
const Scheme = "oci://"

const maxReference = 512

// Reference says where a package is: oci://REGISTRY/REPOSITORY, with :TAG or @sha256:DIGEST. The digest is that of the manifest.
type Reference struct {
	Registry   string // a host, which may have a port
	Repository string
	Tag        string // empty: none
	Digest     string // "sha256:…"; empty: none
}

// ParseReference reads a reference. There is a tag or a digest, or neither, where all of a repository is meant.
func ParseReference(text string) (Reference, error) {
	wrong := func(format string, args ...any) (Reference, error) {
		return Reference{}, &diag.HintError{Code: "reference", Message: fmt.Sprintf("%q: %s", diag.Shorten(text), fmt.Sprintf(format, args...)),
			Hint: "it is written oci://registry.example/acme/nginx:1.4, or …/nginx@sha256:DIGEST"}
	}
	rest, ok := strings.CutPrefix(text, Scheme)
	switch {
	case !ok:
		return wrong("it does not begin with %s", Scheme)
	case len(text) > maxReference:
		return wrong("it has more than %d bytes", maxReference)
	}
	host, path, ok := strings.Cut(rest, "/")
	if !ok || host == "" || path == "" {
		return wrong("it names no registry and repository")
	}
	ref := Reference{Registry: host}
	ref.Repository, ref.Digest, ok = strings.Cut(path, "@")
	if ok && !isDigest(ref.Digest) {
		return wrong("what follows @ is not sha256: and 64 hexadecimal digits")
	}
	repository, tag, tagged := strings.Cut(ref.Repository, ":")
	ref.Repository, ref.Tag = repository, tag
	switch {
	case tagged && ok:
		return wrong("it has a tag and a digest, and one of them could be wrong")
	case tagged && !isTag(tag):
		return wrong("%q is no tag: letters, digits and _ . - after the first, 128 at most", tag)
	}
	oras := registry.Reference{Registry: ref.Registry, Repository: ref.Repository}
	if strings.ContainsAny(host, "@\\%") || oras.ValidateRegistry() != nil {
		return wrong("%q is no host, with or without a port", host)
	}
	if oras.ValidateRepository() != nil {
		return wrong("%q is no repository: lower-case letters and digits, with . _ - between them, and / between parts", ref.Repository)
	}
	return ref, nil
}

func isTag(text string) bool {
	return len(text) <= 128 && regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`).MatchString(text)
}

func isDigest(text string) bool {
	digits, ok := strings.CutPrefix(text, "sha256:")
	return ok && len(digits) == 64 && strings.Trim(digits, "0123456789abcdef") == ""
}

// String writes a reference as it is parsed.
func (r Reference) String() string {
	text := Scheme + r.Registry + "/" + r.Repository
	switch {
	case r.Digest != "":
		return text + "@" + r.Digest
	case r.Tag != "":
		return text + ":" + r.Tag
	}
	return text
}

// At is the manifest with a digest in the same repository.
func (r Reference) At(digest string) Reference {
	return Reference{Registry: r.Registry, Repository: r.Repository, Digest: digest}
}

// name is what the registry knows the manifest by.
func (r Reference) name() (string, error) {
	switch {
	case r.Digest != "":
		return r.Digest, nil
	case r.Tag != "":
		return r.Tag, nil
	}
	return "", &diag.HintError{Code: "reference", Message: r.String() + " names no version", Hint: "write the version behind it, as in " + r.String() + ":1.4"}
}
