package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
)

// Signer is who has signed a tag or a commit.
type Signer struct {
	Principal   string // as the file of allowed signers names them
	Fingerprint string // "SHA256:…"
}

const maxSigners = 1 << 20

// AllowedSigners is a file of allowed signers: see "ALLOWED SIGNERS" in ssh-keygen(1).
type AllowedSigners struct {
	File string // its path, absolute
	Name string // by which people know it, where File is a copy; empty: File is
}

func (a AllowedSigners) name() string { return cmp.Or(a.Name, a.File) }

// Verify tells who has signed a revision that was fetched: its tag, if that is annotated, else its commit. The signature has to be one of SSH
// by a key that the file has.
func (r *Repository) Verify(ctx context.Context, v Revision, signers AllowedSigners) (Signer, error) {
	if err := r.checkSigners(signers); err != nil {
		return Signer{}, err
	}
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	release, err := r.hold(ctx, v.Commit)
	if err != nil {
		return Signer{}, err
	}
	defer release()
	// The signature of a tag counts for the commit that it stands for, and for no other one.
	if err := r.checkObject(ctx, v); err != nil {
		return Signer{}, err
	}
	verb, object, what := "verify-commit", v.Commit, fmt.Sprintf("commit %.12s", v.Commit)
	if v.TagObject != "" {
		verb, object, what = "verify-tag", v.TagObject, "tag "+v.Tag
		if err := r.checkTag(ctx, v); err != nil {
			return Signer{}, err
		}
	}
	signature, err := r.signature(ctx, object)
	if err != nil {
		return Signer{}, err
	}
	hint := "have one of those whom " + signers.name() + " names sign it: git commit -S, or git tag -s"
	switch {
	case signature == "":
		return Signer{}, r.refuse(CodeSignature, hint, "%s is not signed", what)
	case !strings.HasPrefix(signature, "-----BEGIN SSH SIGNATURE-----"):
		return Signer{}, r.refuse(CodeSignature, hint+", with gpg.format=ssh", "%s is not signed by an SSH key", what)
	}
	return r.verify(ctx, verb, object, signers, what, hint)
}

// verify has git look at a signature. Who has made it stands in what is told about it.
func (r *Repository) verify(ctx context.Context, verb, object string, signers AllowedSigners, what, hint string) (Signer, error) {
	// The setting comes last, and counts so.
	var told string
	out, err := r.run(ctx, command{args: []string{"-c", "gpg.ssh.allowedSignersFile=" + signers.File, verb, "--raw", object}, bare: true, told: &told})
	if err != nil && exitCode(err) < 0 {
		return Signer{}, err
	}
	if err == nil {
		m := regexp.MustCompile(`(?m)^Good "git" signature for (.+) with \S+ key (SHA256:\S+)\s*$`).FindStringSubmatch(told + "\n" + string(out))
		if m != nil {
			return Signer{Principal: diag.Clean(m[1], "", '·'), Fingerprint: m[2]}, nil
		}
	}
	if key := regexp.MustCompile(`Good "git" signature with \S+ key (SHA256:\S+)`).FindStringSubmatch(told); key != nil {
		return Signer{}, r.refuse(CodeSignature, "where that is somebody to trust, add a line with the key", "%s is signed by %s, which %s does not name, or not for that time", what, key[1], signers.name())
	}
	return Signer{}, r.refuse(CodeSignature, hint, "the signature of %s is not right: %s", what, lastReason(told))
}

// checkSigners looks at the file, and for the program, whose absence git tells in its own words.
func (r *Repository) checkSigners(signers AllowedSigners) error {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		return &diag.HintError{Code: CodeProgram, Message: fmt.Sprintf("signatures cannot be verified: %v", err), Hint: "install ssh-keygen: apt install openssh-client"}
	}
	info, err := os.Stat(signers.File)
	switch {
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("it is no file")
	case err == nil && info.Size() > maxSigners:
		err = fmt.Errorf("it has more than %d bytes", maxSigners)
	case err == nil && info.Size() == 0:
		err = errors.New("it names nobody")
	case errors.Is(err, fs.ErrNotExist):
		err = errors.New("it is not there")
	case err == nil && !filepath.IsAbs(signers.File):
		err = errors.New("its path has to be absolute")
	}
	if err != nil {
		return &diag.HintError{Code: CodeSignature, Message: fmt.Sprintf("allowed signers cannot be read: %s: %v", signers.name(), err), Hint: "a line for each: NAME KEY-TYPE KEY, as in ssh-keygen(1)"}
	}
	return nil
}

// checkTag compares the name that a tag has with the one by which it was asked for: who keeps a repository could give an old tag, which is signed, a new name.
func (r *Repository) checkTag(ctx context.Context, v Revision) error {
	head, err := r.header(ctx, v.TagObject)
	if err != nil {
		return err
	}
	for line := range strings.Lines(head) {
		if name, ok := strings.CutPrefix(line, "tag "); ok && strings.TrimSpace(name) == v.Tag {
			return nil
		}
	}
	return r.refuse(CodeSignature, "", "the tag %s is another one by its own words", v.Tag)
}

// header gives the lines of a commit or a tag before its message.
func (r *Repository) header(ctx context.Context, object string) (string, error) {
	text, err := r.object(ctx, object)
	head, _, _ := strings.Cut(text, "\n\n")
	return head, err
}

// object gives a commit or a tag.
func (r *Repository) object(ctx context.Context, object string) (string, error) {
	if !IsCommit(object) {
		return "", r.refuse("reference", "", "%q is no object", diag.Shorten(object))
	}
	out, err := r.run(ctx, command{args: []string{"cat-file", "-p", object}, bare: true})
	if errors.Is(err, errOutput) {
		err = r.refuse(CodeTooLarge, "", "%s has more than %d bytes", object, standardOutput)
	}
	return string(out), err
}

// signature gives the signature of a commit, or of a tag, in its armor; empty: there is none.
func (r *Repository) signature(ctx context.Context, object string) (string, error) {
	text, err := r.object(ctx, object)
	if err != nil {
		return "", err
	}
	head, body, _ := strings.Cut(text, "\n\n")
	for line := range strings.Lines(head) {
		for _, key := range []string{"gpgsig ", "gpgsig-sha256 "} {
			if value, ok := strings.CutPrefix(line, key); ok {
				return value, nil
			}
		}
	}
	if strings.HasPrefix(head, "object ") { // of a tag it is at the end
		if i := strings.LastIndex("\n"+body, "\n-----BEGIN "); i >= 0 {
			return body[i:], nil
		}
	}
	return "", nil
}
