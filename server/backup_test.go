package server

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/deploy"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/sessions"
	"github.com/tenetcm/tenet/server/store"
)

func config(dir string) Config {
	return Config{Dir: dir, Listen: "127.0.0.1:0", Agents: "127.0.0.1:0", Names: []string{"localhost"}, Recovery: func(string) error { return nil }}
}

func start(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := Open(t.Context(), c)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// used is a server with all that a backup is about.
type used struct {
	*Server
	host    trust.ID
	content contents.Digest
	token   string
	login   string
	key     *age.X25519Identity
}

func newUsed(t *testing.T) *used {
	t.Helper()
	u := &used{Server: start(t, config(t.TempDir())), content: contents.Sum([]byte("content"))}
	key, err := trust.GenerateKey()
	must(t, err)
	u.host = key.Public().ID()
	must(t, u.Contents.Put(t.Context(), u.content, strings.NewReader("content")))
	_, token, err := u.Hosts.NewToken(t.Context(), enroll.By{Actor: "jane"}, enroll.NewToken{Uses: 1, Auto: true})
	must(t, err)
	u.token = token.ID
	must(t, u.Store.Write(t.Context(), func(tx store.Tx) error {
		d := deploy.Deployment{ID: 1, Site: "shop", Phase: deploy.Rolling, Consent: deploy.Approval, Approved: &deploy.Approved{By: "joe"}}
		held := deploy.Deployment{ID: 2, Site: "shop", Phase: deploy.Rolling}
		for _, d := range []deploy.Deployment{d, held} {
			body, err := json.Marshal(d)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(`INSERT INTO deploy_deployments (id, site, tree, phase, body) VALUES ($1, $2, '', $3, $4)`, d.ID, d.Site, string(d.Phase), body); err != nil {
				return err
			}
		}
		return u.Sessions.Assign(tx, u.host, assignment())
	}))
	u.login = u.logIn(t)
	u.key, err = age.GenerateX25519Identity()
	must(t, err)
	return u
}

func assignment() *trust.Assignment {
	return &trust.Assignment{Format: trust.AssignmentFormat, Site: "shop", Revision: "1", Identity: trust.DigestOf([]byte("nothing")), Absent: true, Until: time.Now().Add(time.Hour)}
}

// logIn makes the first person, and logs in.
func (u *used) logIn(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password")
	_, err := u.People.MakeFirst(t.Context(), file)
	must(t, err)
	password, err := os.ReadFile(file)
	must(t, err)
	login, err := u.People.LogIn(t.Context(), "admin", lastWord(string(password)), "here")
	must(t, err)
	_, err = u.People.Authenticate(t.Context(), login.Secret)
	must(t, err)
	return login.Secret
}

func (u *used) backup(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, u.Backup(t.Context(), &b, []string{u.key.Recipient().String()}))
	return b.Bytes()
}

func code(err error) string { return diag.CodeOf(err) }

// A server that was restored has everything, and delivers nothing; what lets somebody in or something begin is void. After a person has it resume, what
// is wanted is of a new epoch.
func TestRestore(t *testing.T) {
	u := newUsed(t)
	sealed := u.backup(t)
	if bytes.Contains(sealed, []byte("sessions_targets")) {
		t.Error("the backup is not sealed")
	}
	// Another process makes the same while the server runs.
	var other bytes.Buffer
	must(t, Backup(t.Context(), u.Config, &other, []string{u.key.Recipient().String()}))
	for _, data := range [][]byte{sealed, other.Bytes()} {
		dir := filepath.Join(t.TempDir(), "restored")
		must(t, Restore(t.Context(), config(dir), bytes.NewReader(data), []age.Identity{u.key}))
		if err := Restore(t.Context(), config(dir), bytes.NewReader(data), []age.Identity{u.key}); code(err) != CodeBackup {
			t.Errorf("a server takes the place of another one: %v", err)
		}
		u.checkRestored(t, start(t, config(dir)))
	}
}

func (u *used) checkRestored(t *testing.T, s *Server) {
	t.Helper()
	if s.Authority.AuthorityDigest() != u.Authority.AuthorityDigest() {
		t.Error("it has other keys")
	}
	r, _, err := s.Contents.Open(t.Context(), u.content, 0)
	must(t, err)
	if data, err := io.ReadAll(r); err != nil || string(data) != "content" {
		t.Errorf("the content is %q, %v", data, err)
	}
	must(t, r.Close())
	if s.term.Number <= u.term.Number {
		t.Errorf("the term %d comes after %d", s.term.Number, u.term.Number)
	}
	assign := func(a *trust.Assignment) error {
		return s.Store.Write(t.Context(), func(tx store.Tx) error { return s.Sessions.Assign(tx, u.host, a) })
	}
	if err := assign(assignment()); code(err) != sessions.CodeRecovering || !s.Sessions.Recovering() {
		t.Errorf("it does not recover: %v", err)
	}
	if _, err := s.People.Authenticate(t.Context(), u.login); code(err) != access.CodeUnknown {
		t.Errorf("the session goes on: %v", err)
	}
	u.checkVoid(t, s)
	var done func()
	must(t, s.Store.Write(t.Context(), func(tx store.Tx) (err error) {
		done, err = s.Sessions.Resume(tx)
		return err
	}))
	done()
	a := assignment()
	must(t, assign(a))
	if before := uint64(1); a.Epoch <= before {
		t.Errorf("what is wanted is of the epoch %d still", a.Epoch)
	}
}

// checkVoid looks for a token that counts, an approval, and a deployment that goes on by itself.
func (u *used) checkVoid(t *testing.T, s *Server) {
	t.Helper()
	must(t, s.Store.Read(t.Context(), func(r store.Reader) error {
		var revoked *time.Time
		if _, err := store.One(r, `SELECT revoked_at FROM enroll_tokens WHERE id = $1`, []any{u.token}, &revoked); err != nil || revoked == nil {
			t.Errorf("the token counts: %v", err)
		}
		for id, phase := range map[int64]deploy.Phase{1: deploy.Aborted, 2: deploy.Paused} {
			var body []byte
			var d deploy.Deployment
			if _, err := store.One(r, `SELECT body FROM deploy_deployments WHERE id = $1`, []any{id}, &body); err != nil {
				return err
			}
			if err := json.Unmarshal(body, &d); err != nil {
				return err
			}
			if d.Phase != phase || d.Approved != nil {
				t.Errorf("the deployment %d is %s, approved: %+v", id, d.Phase, d.Approved)
			}
		}
		return nil
	}))
}

// What is not a whole backup for this key leaves nothing behind.
func TestRestoreRefused(t *testing.T) {
	u := newUsed(t)
	sealed := u.backup(t)
	stranger, err := age.GenerateX25519Identity()
	must(t, err)
	for name, c := range map[string]struct {
		data []byte
		key  age.Identity
	}{
		"another key": {sealed, stranger},
		"no data":     {nil, u.key},
		"no backup":   {seal(t, u.key, []byte("hello")), u.key},
		"one more":    {append(bytes.Clone(sealed), 0), u.key},
		"cut inside":  {u.reseal(t, sealed, func(plain []byte) []byte { return plain[:len(plain)-4096] }), u.key},
		"twice":       {u.reseal(t, sealed, func(plain []byte) []byte { return append(bytes.Clone(plain), plain...) }), u.key},
		"other key file": {u.reseal(t, sealed, func(plain []byte) []byte {
			return bytes.Replace(plain, []byte("PRIVATE KEY"), []byte("PRIVATE_KEY"), 1)
		}), u.key},
		"outside": {u.reseal(t, sealed, func(plain []byte) []byte {
			return bytes.ReplaceAll(plain, []byte("keys/secret\x00\x00\x00\x00"), []byte("keys/../../x\x00\x00\x00"))
		}), u.key},
	} {
		t.Run(name, func(t *testing.T) { u.checkRefused(t, c.data, c.key) })
	}
	for at := 0; at < len(sealed); at += len(sealed)/12 + 1 {
		changed := bytes.Clone(sealed)
		changed[at] ^= 1
		u.checkRefused(t, changed, u.key)
		u.checkRefused(t, sealed[:at], u.key)
	}
	u.checkRefused(t, sealed[:len(sealed)-1], u.key)
}

func (u *used) checkRefused(t *testing.T, data []byte, key age.Identity) {
	t.Helper()
	parent := t.TempDir()
	if err := Restore(t.Context(), config(filepath.Join(parent, "restored")), bytes.NewReader(data), []age.Identity{key}); err == nil {
		t.Error("it was restored")
	}
	if list, err := os.ReadDir(parent); err != nil || len(list) > 0 {
		t.Errorf("it leaves %v behind: %v", list, err)
	}
}

// reseal changes what is in a backup.
func (u *used) reseal(t *testing.T, sealed []byte, change func([]byte) []byte) []byte {
	t.Helper()
	r, err := age.Decrypt(bytes.NewReader(sealed), u.key)
	must(t, err)
	plain, err := io.ReadAll(r)
	must(t, err)
	return seal(t, u.key, change(plain))
}

func seal(t *testing.T, key *age.X25519Identity, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := age.Encrypt(&b, key.Recipient())
	must(t, err)
	_, err = w.Write(data)
	must(t, err)
	must(t, w.Close())
	return b.Bytes()
}

// A backup is for somebody.
func TestBackupRecipients(t *testing.T) {
	u := newUsed(t)
	for _, to := range [][]string{nil, {""}, {"age1x"}, {u.key.String()}, {"ssh-rsa x"}} {
		var b bytes.Buffer
		if err := u.Backup(t.Context(), &b, to); code(err) != CodeBackup || b.Len() > 0 {
			t.Errorf("%q: %d bytes, %v", to, b.Len(), err)
		}
	}
	if err := Backup(t.Context(), config(t.TempDir()), io.Discard, []string{u.key.Recipient().String()}); code(err) != CodeBackup {
		t.Errorf("of no server: %v", err)
	}
}

// lastWord is the password in the file of the first person.
func lastWord(text string) string {
	words := strings.Fields(text)
	return words[len(words)-1]
}
