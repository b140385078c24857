package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/packages/archive"
	"github.com/tenetcm/tenet/packages/oci"
	"github.com/tenetcm/tenet/packages/signature"
)

type pushCmd struct {
	Package     string `arg:"" help:"A directory or std/NAME, or an archive of tenet package."`
	Reference   string `arg:"" name:"reference" help:"Where it is to be, with its version: oci://registry.example/acme/nginx:1.4.0."`
	Sign        string `help:"Sign it by the SSH key in this file: a private one, or a public one whose other half an agent has." placeholder:"KEY"`
	Description string `help:"What people who browse the registry read (default: the first line of the comment at its head)." placeholder:"TEXT"`
	Overwrite   bool   `help:"Replace a version that exists with other contents."`
}

// Help says more than the list of commands has room for.
func (*pushCmd) Help() string {
	return "A directory is checked first, as by tenet package. Credentials are those of docker login and podman login."
}

// pushedPackage is a package in a registry, as JSON.
type pushedPackage struct {
	Reference string `json:"reference"`
	Manifest  string `json:"manifest"` // its digest
	Digest    string `json:"digest"`   // of the archive
	Existed   bool   `json:"existed"`
	SignedBy  string `json:"signed_by,omitempty"` // the fingerprint
}

// Run pushes a package.
func (cmd *pushCmd) Run(ctx runContext, s *client) error {
	ref, err := oci.ParseReference(cmd.Reference)
	if err != nil {
		return newStatus(exitUsage, err, diag.HintOf(err))
	}
	f, description, err := cmd.open(ctx, s)
	if err != nil {
		return err
	}
	defer f.Close()
	var signer ssh.Signer
	var signed []byte
	if cmd.Sign != "" { // first: a version that lacks its signature is of no use to who wants one
		if signer, signed, err = s.signArchive(ctx, cmd.Sign, f); err != nil {
			return failure(err)
		}
	}
	registry := s.registries()
	pushed, existed, err := registry.Push(ctx, ref, f, oci.PushOptions{Title: path.Base(ref.Repository), Description: description, Overwrite: cmd.Overwrite})
	if err != nil {
		return failure(err)
	}
	told := pushedPackage{Reference: ref.String(), Manifest: pushed.Manifest, Digest: pushed.Digest, Existed: existed}
	if signer != nil {
		if err := registry.Sign(ctx, pushed, signed, ssh.FingerprintSHA256(signer.PublicKey())); err != nil {
			return failure(fmt.Errorf("it is pushed, but not signed: %w", err))
		}
		told.SignedBy = ssh.FingerprintSHA256(signer.PublicKey())
	}
	return cmd.tell(s, told)
}

// open opens the archive, of a directory that is checked first or of a file, and gives the description.
func (cmd *pushCmd) open(ctx context.Context, s *client) (*os.File, string, error) {
	if isArchive(cmd.Package) {
		f, err := os.Open(cmd.Package)
		return f, cmd.Description, failure(err)
	}
	dir, err := openPackageDir(cmd.Package)
	if err != nil {
		return nil, "", err
	}
	defer dir.close()
	text, err := s.checkPackage(ctx, dir)
	if err != nil {
		return nil, "", err
	}
	if cmd.Description == "" {
		cmd.Description, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	}
	f, err := dir.temporary()
	return f, cmd.Description, failure(err)
}

// signArchive signs the digest of an archive.
func (s *client) signArchive(ctx context.Context, key string, f *os.File) (ssh.Signer, []byte, error) {
	signer, err := s.packageSigner(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, nil, err
	}
	contents, err := archive.Read(ctx, f, archive.Options{}, nil)
	if err != nil {
		return nil, nil, err
	}
	signed, err := signature.Sign(contents.Digest, signer)
	return signer, signed, err
}

func (cmd *pushCmd) tell(s *client, told pushedPackage) error {
	if s.globals.JSON {
		return s.printJSON(told)
	}
	text := "pushed " + told.Reference
	if told.Existed {
		text = told.Reference + " is there already"
	}
	if told.SignedBy != "" {
		text += ", signed by " + told.SignedBy
	}
	if err := s.say(ui.Clean(text)); err != nil {
		return err
	}
	return s.print(told.Reference + "@" + told.Manifest)
}
