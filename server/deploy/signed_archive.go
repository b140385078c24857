package deploy

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/contents"
)

// Names in an archive of what was signed elsewhere.
const (
	assignmentsName = "assignments.json"
	contentsPrefix  = "contents/"
)

// Limits of such an archive.
const (
	maxAssignments = 64 << 20 // bytes of assignments.json
	maxSignedHosts = 20_000
)

// TakeSigned takes an archive of what somebody has evaluated and signed of a revision: a tar, in which assignments.json is first, a list of SignedHost,
// and then the contents that these name and that the revision itself does not have, as contents/SHA256. All of it is kept, or nothing that counts.
func (s *Service) TakeSigned(ctx context.Context, by *access.Caller, site string, number int64, archive io.Reader) (hosts int, err error) {
	if _, err := s.signatures(); err != nil {
		return 0, err
	}
	if !by.MaySite(access.Deploy, site) {
		return 0, by.Demand(access.Deploy, access.Target{}, site)
	}
	in := tar.NewReader(archive)
	var list []SignedHost
	first, err := in.Next()
	if err == nil && (first.Name != assignmentsName || first.Typeflag != tar.TypeReg || first.Size > maxAssignments) {
		err = fmt.Errorf("its first entry is %.100q, and not %s with at most %d MiB", first.Name, assignmentsName, maxAssignments>>20)
	}
	if err == nil {
		err = json.NewDecoder(in).Decode(&list)
	}
	if err == nil && (len(list) == 0 || len(list) > maxSignedHosts) {
		err = fmt.Errorf("it is for %d hosts, and takes one to %d", len(list), maxSignedHosts)
	}
	if err != nil {
		return 0, badSigned(err)
	}
	named := map[string]trust.Content{}
	for i := range list {
		if list[i].Assignment == nil {
			return 0, badSigned(errors.New("a host of it has no assignment"))
		}
		a := &trust.Assignment{}
		if err := json.Unmarshal(list[i].Assignment.Content, a); err != nil {
			return 0, badSigned(err)
		}
		for _, c := range append(a.Files, a.Bundle) {
			named[contentsPrefix+c.SHA256.String()] = c
		}
	}
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return len(list), s.KeepSigned(ctx, by, site, number, list)
		}
		if err != nil {
			return 0, badSigned(err)
		}
		c, isNamed := named[header.Name]
		if !isNamed || header.Typeflag != tar.TypeReg || header.Size != c.Size {
			return 0, badSigned(fmt.Errorf("no assignment names %.100q with %d bytes", header.Name, header.Size))
		}
		err = s.Contents.Put(ctx, contents.Digest(strings.TrimPrefix(header.Name, contentsPrefix)), in)
		if errors.Is(err, contents.ErrOther) {
			err = badSigned(fmt.Errorf("%.100q is another content", header.Name))
		}
		if err != nil {
			return 0, err
		}
	}
}

func badSigned(err error) error {
	return invalid("what was signed elsewhere cannot be read: "+err.Error(), "tenet deploy --sign packs it as it has to be")
}
