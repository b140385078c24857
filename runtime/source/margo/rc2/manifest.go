package rc2

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/tenetcm/tenet/lang/document"
)

// Media types of the API.
const (
	TypeManifest   = "application/vnd.margo.manifest.v1+json"
	TypeBundle     = "application/vnd.margo.bundle.v1+tar+gzip"
	TypeDeployment = "application/yaml"
	TypeProblem    = "application/problem+json"
)

// Manifest is all that a client is to run: what is not in it goes.
type Manifest struct {
	Version     uint64      `json:"manifestVersion"`
	Bundle      *BundleRef  `json:"bundle"` // nil: there are no deployments
	Deployments []Reference `json:"deployments"`
}

// BundleRef names the archive that has the documents of all deployments.
type BundleRef struct {
	MediaType string `json:"mediaType"`
	Digest    Digest `json:"digest"`
	URL       string `json:"url"`
}

// Reference names the document of a deployment. Its URL is not followed: where a document is follows from id and digest.
type Reference struct {
	ID     string `json:"deploymentId"`
	Digest Digest `json:"digest"`
	URL    string `json:"url"`
}

// PathManifest is where the manifest is.
const PathManifest = "/api/v1/deployments"

// Path is where the document is.
func (r Reference) Path() string { return PathManifest + "/" + r.ID + "/" + string(r.Digest) }

// Path is where the archive is.
func (b BundleRef) Path() string { return "/api/v1/bundles/" + string(b.Digest) }

// PathStatus is where the status of a deployment goes.
func PathStatus(deployment string) string { return PathManifest + "/" + deployment + "/status" }

// PathCapabilities is where the capabilities of a device go.
func PathCapabilities(device string) string { return "/api/v1/capabilities/" + device }

// ReadManifest reads a manifest.
func ReadManifest(data []byte) (Manifest, error) {
	node, err := read("manifest", "manifest.json", data, MaxManifest)
	if err != nil {
		return Manifest{}, err
	}
	m := Manifest{Deployments: []Reference{}}
	number, _ := below(node, "manifestVersion").Value.(json.Number) // the schema asks for one
	if m.Version, err = strconv.ParseUint(number.String(), 10, 64); err != nil {
		return m, fmt.Errorf("manifest.json: manifestVersion is a whole number from 1 to 2^64-1, not %.40s", number)
	}
	known := map[string]bool{}
	for _, item := range items(node, "deployments") {
		r := Reference{ID: text(item, "deploymentId"), Digest: Digest(text(item, "digest")), URL: text(item, "url")}
		if known[r.ID] {
			return m, fmt.Errorf("%s: the deployment %s is in the manifest twice", item.Range, r.ID)
		}
		known[r.ID] = true
		m.Deployments = append(m.Deployments, r)
	}
	if b := below(node, "bundle"); b.Kind == document.Map {
		m.Bundle = &BundleRef{MediaType: text(b, "mediaType"), Digest: Digest(text(b, "digest")), URL: text(b, "url")}
	}
	if (m.Bundle == nil) != (len(m.Deployments) == 0) {
		return m, fmt.Errorf("manifest.json: bundle is null where there is no deployment, and only there: there are %d", len(m.Deployments))
	}
	return m, nil
}
