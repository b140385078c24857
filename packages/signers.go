package packages

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/tenetcm/tenet/packages/signature"
)

// CheckSigner tells, for lang.Options, whether a file of the site has the key of whoever has signed a package as the lock says.
func CheckSigner(site fs.FS) func(file, signer string) error {
	return func(file, signer string) error {
		info, err := fs.Stat(site, file)
		if err == nil && (!info.Mode().IsRegular() || info.Size() > signature.MaxSigners) {
			err = fmt.Errorf("%s is no file of at most %d bytes", file, signature.MaxSigners)
		}
		if err != nil {
			return err
		}
		data, err := fs.ReadFile(site, file)
		if err != nil {
			return err
		}
		allowed, err := signature.ParseSigners(file, data, nil)
		if err != nil {
			return err
		}
		words := strings.Fields(signer)
		if len(words) == 0 {
			return errors.New("the lock names nobody")
		}
		_, err = allowed.Find(words[len(words)-1], "", time.Time{})
		return err
	}
}
