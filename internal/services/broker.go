package services

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/broker/cluster"
)

// BrokerConfig is cli.Services'. The folder must be new, so that no key is replaced.
func (Services) BrokerConfig(dir string, servers []string) error {
	now := time.Now()
	files, err := cluster.Generate(now)
	if err != nil {
		return err
	}
	if len(servers) > 0 {
		more, err := cluster.GenerateServers(servers, now)
		if err != nil {
			return err
		}
		files = append(files, more...)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = &diag.HintError{Code: "exists", Message: dir + " is there already", Hint: "name a folder that is not: keys in it would be replaced"}
		}
		return err
	}
	for _, f := range files {
		mode := fs.FileMode(0o644)
		if f.Secret {
			mode = 0o600
		}
		if err := atomicfile.Replace(filepath.Join(dir, f.Name), atomicfile.Options{Mode: mode, Durable: true}, atomicfile.Data(f.Data)); err != nil {
			return fmt.Errorf("%s is incomplete, remove it: %w", dir, err)
		}
	}
	return nil
}
