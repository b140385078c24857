package deploy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/store"
)

// ClassMigration has an index say for which hosts a revision makes the same, as far as pages and sources tell of it: there are few such classes, however many hosts there are. A class
// that is empty was written by a former version of the server. It came after other tables of a server, and stands behind them.
func ClassMigration() store.Migration {
	return store.Migration{Name: "classes of what revisions make of hosts", SQL: `
ALTER TABLE deploy_prepared ADD COLUMN class TEXT NOT NULL DEFAULT '';
ALTER TABLE deploy_signed ADD COLUMN class TEXT NOT NULL DEFAULT '';
CREATE INDEX deploy_prepared_class ON deploy_prepared (site, tree, class, host);
CREATE INDEX deploy_signed_class ON deploy_signed (site, tree, class, host);
`}
}

// A class is who or what stands for it, and a digest: hosts for which the site is wrong have that of the mistake, and others that of what they are to have.
const (
	classWrong  = "!:"
	classRight  = "=:"
	afterWrong  = "!;" // comes after all classes of hosts for which the site is wrong
	afterSigner = ";"  // behind the id of a key: comes after all classes of what that has signed
)

// class is that of what is prepared for a host. What was signed elsewhere begins with the id of the key.
func (p *Prepared) class() (string, error) {
	shape, err := json.Marshal([]any{p.Absent, p.Components, p.Prunes})
	if err != nil {
		return "", err
	}
	start := classRight
	switch {
	case p.Error != "":
		start, shape = classWrong, []byte(p.Error)
	case !p.Key.IsZero():
		start = string(p.Key.ID()) + ":"
	}
	sum := sha256.Sum256(shape)
	return start + hex.EncodeToString(sum[:16]), nil
}

// putPrepared keeps what is prepared for a host, in one of its tables.
func (t table) putPrepared(tx store.Tx, site string, tree contents.Digest, p *Prepared) error {
	class, err := p.class()
	if err != nil {
		return err
	}
	body, err := bodyOf(p)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO `+string(t)+` (site, host, tree, body, class) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (site, host, tree) DO UPDATE SET body = $4, class = $5`,
		site, string(p.Host), string(tree), body, class)
	return err
}

// hostClass is a host with the class of what is prepared for it.
type hostClass struct {
	host  trust.ID
	class string
}

// eachHostClass calls a function for each host for which something is prepared of a tree, with a class from one on and before another one: it reads no more than an index.
func eachHostClass(r store.Reader, t table, site string, tree contents.Digest, from, before string, each func(hostClass) error) error {
	former, err := formerClasses(r, t, site, tree)
	for _, one := range former {
		if err == nil && one.class >= from && one.class < before {
			err = each(one)
		}
	}
	if err != nil {
		return err
	}
	return r.Query(`SELECT host, class FROM `+string(t)+` WHERE site = $1 AND tree = $2 AND class > '' AND class >= $3 AND class < $4 ORDER BY class, host`, []any{site, string(tree), from, before}, func(row store.Row) error {
		host, isHost := row[0].(string)
		class, isClass := row[1].(string)
		if !isHost || !isClass {
			return fmt.Errorf("a row of %s is damaged: %v", t, row)
		}
		return each(hostClass{trust.ID(host), class})
	})
}

// formerClasses reads the classes of what a former version of the server has written: there is none any more once the hosts are evaluated again.
func formerClasses(r store.Reader, t table, site string, tree contents.Digest) (list []hostClass, err error) {
	err = r.Query(`SELECT host, body FROM `+string(t)+` WHERE site = $1 AND tree = $2 AND class = '' ORDER BY host`, []any{site, string(tree)}, func(row store.Row) error {
		var host string
		var body []byte
		if err := row.Scan(&host, &body); err != nil {
			return err
		}
		p := &Prepared{}
		if err := json.Unmarshal(body, p); err != nil {
			return fmt.Errorf("%s of %s is damaged: %w", t, host, err)
		}
		class, err := p.class()
		list = append(list, hostClass{trust.ID(host), class})
		return err
	})
	return list, err
}

// anyClass is before which all classes are.
const anyClass = "~"

// shapeOf is the part of a class that says what a host is to have; of hosts for which the site is wrong there is but one.
func shapeOf(class string) string {
	if strings.HasPrefix(class, classWrong) {
		return classWrong
	}
	return class[strings.LastIndex(class, ":")+1:]
}
