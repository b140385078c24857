package cli

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/internal/sitefiles"
	"github.com/tenetcm/tenet/internal/ui"
	vers "github.com/tenetcm/tenet/internal/version"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	api "github.com/tenetcm/tenet/server/api/client"
	"github.com/tenetcm/tenet/server/evaluate"
	"github.com/tenetcm/tenet/server/signing"
)

// signedName is that of the file, in the folder of the login, with what was signed before.
const signedName = "signed.json"

// sign evaluates a revision here, signs what is wanted of its hosts, and gives that to the server. It may be called again: what is signed later comes after
// what was signed before.
func (cmd *deployCmd) sign(ctx context.Context, s *client, server *api.Client, key trust.PrivateKey, r api.Revision, archive []byte) (err error) {
	asked, err := server.Signing(ctx, r.Site, r.Number, cmd.Hosts)
	if err != nil {
		return failure(err)
	}
	if asked.Site != r.Site || asked.Revision != r.Number {
		return failure(&diag.HintError{Code: api.CodeNoAnswer, Message: "the server answers for another revision than was asked for"})
	}
	dir, err := os.MkdirTemp("", "tenet-sign-")
	if err != nil {
		return failure(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	files, out := filepath.Join(dir, "site"), filepath.Join(dir, "contents")
	if err := errors.Join(os.Mkdir(files, 0o700), os.Mkdir(out, 0o700)); err != nil {
		return failure(err)
	}
	uploaded, err := unpackSite(archive, files)
	if err != nil {
		return failure(err)
	}
	config, err := s.configDir()
	if err != nil {
		return err
	}
	memory, err := signing.OpenMemory(filepath.Join(config, signedName))
	if err != nil {
		return failure(err)
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	signer := &signing.Signer{Key: key, Identities: s.identities(ctx), Known: server.CheckHost, Memory: memory, Empty: cmd.Empty, Program: vers.String(),
		Evaluation: func(run func() error) error {
			defer s.limitEvaluation()()
			return run()
		}}
	signed, err := signer.Sign(ctx, asked, files, out)
	if diag.CodeOf(err) == evaluate.CodeSite {
		return newStatus(exitSite, err, diag.HintOf(err))
	}
	if err != nil {
		return failure(err)
	}
	for data, err := range signed.Archives(func(d trust.Digest) bool { return uploaded[d] }) {
		if err == nil {
			err = server.SendAssignments(ctx, r.Site, r.Number, data)
		}
		if err != nil {
			return failure(err)
		}
	}
	return cmd.saySigned(s, signed)
}

// saySigned says for whom something was signed, and for whom nothing was.
func (cmd *deployCmd) saySigned(s *client, signed *signing.Signed) error {
	for _, name := range slices.Sorted(maps.Keys(signed.Waiting)) {
		if err := s.say(ui.Line(name) + ": nothing was signed: " + ui.Clean(signed.Waiting[name])); err != nil {
			return err
		}
	}
	if len(signed.Hosts) == 0 {
		return failure(&diag.HintError{Code: "empty", Message: "there is no host for which something could be signed", Hint: "tenet host list shows those that are enrolled"})
	}
	if s.globals.JSON {
		return nil
	}
	hosts := "hosts"
	if len(signed.Hosts) == 1 {
		hosts = "host"
	}
	names := make([]string, len(signed.Hosts)) // each of them, since whom the server asks for is what a signature has to be read for
	for i, h := range signed.Hosts {
		names[i] = ui.Line(h.Name)
	}
	slices.Sort(names)
	return s.say(fmt.Sprintf("signed for %d %s: %s", len(signed.Hosts), hosts, strings.Join(names, ", ")))
}

// unpackSite writes the files of an archive that packSite has made into a folder, and gives their digests. It is evaluated as the server has it.
func unpackSite(archive []byte, dir string) (map[trust.Digest]bool, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	digests := map[trust.Digest]bool{}
	for in := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return digests, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(in)
		if err == nil {
			err = sitefiles.Write(root, header.Name, sitefiles.IsExecutable(header.FileInfo().Mode()), bytes.NewReader(data))
		}
		if err != nil {
			return nil, err
		}
		digests[sha256.Sum256(data)] = true
	}
}
