package margo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// manifest asks for the manifest: Unchanged, Offered or Unavailable.
func (c *client) manifest(ctx context.Context, etag string) Message {
	const what = "the manifest"
	header := map[string]string{"Accept": rc2.TypeManifest}
	if etag != "" {
		header["If-None-Match"] = etag
	}
	a, err := c.do(ctx, request{method: http.MethodGet, path: rc2.PathManifest, header: header, limit: rc2.MaxManifest, time: answerTime})
	switch {
	case err != nil:
		return Unavailable{*failed(what, err)}
	case a.status == http.StatusNotModified && etag != "":
		return Unchanged{}
	case a.status != http.StatusOK:
		return Unavailable{*a.failure(what)}
	case !a.is(rc2.TypeManifest):
		return Unavailable{Failure{Reason: fmt.Sprintf("%s: it is %.80q, and %s was asked for", what, a.header.Get("Content-Type"), rc2.TypeManifest)}}
	}
	digest := rc2.DigestOf(a.body)
	if given := a.header.Get("ETag"); given != "" && given != `"`+string(digest)+`"` {
		return Unavailable{Failure{Reason: fmt.Sprintf("%s: its ETag is %.100s, and its bytes have the digest %s", what, given, digest)}}
	}
	m, err := rc2.ReadManifest(a.body)
	if err != nil {
		return Unavailable{*failed(what, err)}
	}
	return Offered{m, digest}
}

// document gets the document of a deployment, verified.
func (c *client) document(ctx context.Context, ref rc2.Reference) ([]byte, *Failure) {
	what := "the document of the deployment " + ref.ID
	a, err := c.do(ctx, request{method: http.MethodGet, path: ref.Path(), limit: rc2.MaxDeployment, time: answerTime})
	if err == nil && a.status != http.StatusOK {
		return nil, a.failure(what)
	}
	if err == nil {
		err = ref.Digest.Verify("it", a.body)
	}
	if err != nil {
		return nil, failed(what, err)
	}
	return a.body, nil
}

// bundle gets the documents of all deployments, verified; nil: the manager has it no more.
func (c *client) bundle(ctx context.Context, m rc2.Manifest) (map[string][]byte, *Failure) {
	const what = "the bundle"
	a, err := c.do(ctx, request{method: http.MethodGet, path: m.Bundle.Path(), header: map[string]string{"Accept": rc2.TypeBundle}, limit: rc2.MaxBundle, time: downloadTime})
	if err == nil && a.status == http.StatusNotFound {
		return nil, nil
	}
	if err == nil && a.status != http.StatusOK {
		return nil, a.failure(what)
	}
	if err == nil {
		err = m.Bundle.Digest.Verify("it", a.body)
	}
	var documents map[string][]byte
	if err == nil {
		documents, err = rc2.ReadBundle(a.body, m.Deployments)
	}
	if err != nil {
		return nil, failed(what, err)
	}
	return documents, nil
}

// report tells the manager of a deployment.
func (c *client) report(ctx context.Context, s rc2.Status) *Failure {
	body, err := plainjson.Marshal(s)
	if err != nil {
		return failed("the status", err)
	}
	return c.send(ctx, http.MethodPost, rc2.PathStatus(s.Deployment), "the status", body, http.StatusOK, http.StatusCreated)
}

// describe tells it what the device has.
func (c *client) describe(ctx context.Context, r Rules) *Failure {
	body, err := r.Capabilities.Encode()
	if err != nil {
		return failed("the capabilities", err)
	}
	return c.send(ctx, http.MethodPut, rc2.PathCapabilities(r.Device), "the capabilities", body, http.StatusOK, http.StatusCreated, http.StatusNoContent)
}

// unregister takes the device away from the manager. One that it does not know is gone.
func (c *client) unregister(ctx context.Context, device string) *Failure {
	return c.send(ctx, http.MethodDelete, rc2.PathCapabilities(device), "the end", nil, http.StatusNoContent, http.StatusOK, http.StatusNotFound)
}

func (c *client) send(ctx context.Context, method, path, what string, body json.RawMessage, good ...int) *Failure {
	header := map[string]string{}
	if body != nil {
		header["Content-Type"] = "application/json"
	}
	a, err := c.do(ctx, request{method: method, path: path, header: header, body: body, limit: rc2.MaxProblem, time: answerTime})
	if err != nil {
		return failed(what, err)
	}
	for _, status := range good {
		if a.status == status {
			return nil
		}
	}
	return a.failure(what)
}
