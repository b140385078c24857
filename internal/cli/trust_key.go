package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
)

type trustKeyCmd struct {
	File   string `arg:"" help:"Write the private key to this file, which nobody else may read."`
	Public bool   `help:"Print the public key of the private key that is there already."`
}

// madeKey is a key, as JSON.
type madeKey struct {
	Key  trust.PublicKey `json:"key"`
	ID   trust.ID        `json:"id"`
	File string          `json:"file"`
}

// Run makes a key.
func (cmd *trustKeyCmd) Run(_ runContext, s *client) error {
	get := makeSigningKey
	if cmd.Public {
		get = readSigningKey
	}
	key, err := get(cmd.File)
	if err != nil {
		return failure(err)
	}
	if s.globals.JSON {
		return s.printJSON(madeKey{key.Public(), key.ID(), cmd.File})
	}
	if !cmd.Public {
		if err := s.say("the private key is in " + ui.Clean(cmd.File) + "; hosts accept what it signs once its public key is in the trust document: tenet trust add-key"); err != nil {
			return err
		}
	}
	return s.print(key.Public().String())
}

// makeSigningKey makes a private key in a new file, as PEM with PKCS #8.
func makeSigningKey(name string) (trust.PrivateKey, error) {
	key, err := trust.GenerateKey()
	if err != nil {
		return key, err
	}
	text, err := key.PEM()
	if err != nil {
		return key, err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return key, &diag.HintError{Code: "exists", Message: name + " is there already", Hint: "name another file; --public prints the public key of the one that is there"}
	}
	if err != nil {
		return key, fmt.Errorf("the key cannot be written: %w", err)
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return key, errors.Join(fmt.Errorf("the key cannot be written: %w", err), os.Remove(name))
	}
	return key, nil
}

// readSigningKey reads a private key that makeSigningKey has written, or "openssl genpkey -algorithm ed25519". It may come through a pipe, such as
// /dev/fd/3. A file that others may read is refused: what it signs, hosts do.
func readSigningKey(name string) (trust.PrivateKey, error) {
	const hint = "\"tenet trust key FILE\" makes one"
	info, err := os.Stat(name)
	if err != nil {
		return trust.PrivateKey{}, &diag.HintError{Code: "signing_key", Message: fmt.Sprintf("the key cannot be read: %v", err), Hint: hint}
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return trust.PrivateKey{}, &diag.HintError{Code: "signing_key", Message: fmt.Sprintf("others may read or change the private key in %s: its mode is %04o", name, info.Mode().Perm()),
			Hint: "chmod 600; where others could have read it, make another one, and remove this one from the trust document"}
	}
	data, err := readSome(name, 1<<16)
	if err != nil {
		return trust.PrivateKey{}, &diag.HintError{Code: "signing_key", Message: fmt.Sprintf("the key cannot be read: %v", err), Hint: hint}
	}
	key, err := trust.ParsePrivateKey(data)
	if err != nil {
		return key, &diag.HintError{Code: "signing_key", Message: fmt.Sprintf("%s: %v", name, err), Hint: hint}
	}
	return key, nil
}
