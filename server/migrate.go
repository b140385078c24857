package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"filippo.io/age"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/server/store/open"
)

// migrationDir is the folder, in that of a server, with a backup from before its store was migrated last, and the key that opens it. The store itself
// lies beside it, so that a key elsewhere would keep nothing from anybody.
const migrationDir = "before-migration"

// Names of the files in that folder.
const (
	migrationBackup = "backup"
	migrationKey    = "key"
)

// openStore opens the store of a server with the tables of a program. One that a former program has used is backed up before it is migrated.
func openStore(ctx context.Context, c Config, migrations []store.Migration) (*store.Store, error) {
	return open.Open(ctx, c.storeURL(), store.Options{Migrations: migrations, BeforeMigration: func(s *store.Store) error {
		dir, err := backupMigration(ctx, c, s)
		if err != nil {
			return &diag.HintError{Code: CodeBackup, Err: fmt.Errorf("the store is of an earlier program, and stays as it is, since it cannot be backed up before it is migrated: %w", err),
				Hint: "see that there is room in " + c.Dir + "; until then the former program works with it"}
		}
		if c.Failed != nil {
			c.Failed(fmt.Errorf("the store is of an earlier program, and is migrated. To go back: tenet server restore %s --backup-identity %s --dir DIR, by that program",
				filepath.Join(dir, migrationBackup), filepath.Join(dir, migrationKey)))
		}
		return nil
	}})
}

// backupMigration backs up all of a server into its folder, in the place of the backup before, and gives where. What is killed meanwhile is begun
// anew: the store is migrated after that.
func backupMigration(ctx context.Context, c Config, s *store.Store) (dir string, err error) {
	draft := filepath.Join(c.Dir, "."+migrationDir)
	if err := os.RemoveAll(draft); err != nil {
		return "", err
	}
	if err := os.Mkdir(draft, 0o700); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(draft))
		}
	}()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return "", err
	}
	private := atomicfile.Options{Mode: 0o600, Durable: true}
	if err := atomicfile.Replace(filepath.Join(draft, migrationKey), private, atomicfile.Data([]byte(key.String()+"\n"))); err != nil {
		return "", err
	}
	err = atomicfile.Replace(filepath.Join(draft, migrationBackup), private, func(f *os.File) (err error) {
		var folder *contents.Folder
		if !c.inDatabase() {
			if folder, err = contents.OpenFolder(filepath.Join(c.Dir, "contents")); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, folder.Close()) }()
		}
		return backup(ctx, backupSource{c, s, folder, true}, f, []string{key.Recipient().String()})
	})
	if err != nil {
		return "", err
	}
	dir = filepath.Join(c.Dir, migrationDir)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, moveInto(draft, dir)
}
