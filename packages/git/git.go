// Package git brings files out of repositories of Git: those of components, and of sites that are followed. It runs the program git.
//
// A repository is not trusted. What comes from it has a limit and a time to come in; nothing of it is run or checked out by git: files are
// listed, looked at and written by this package. Neither the configuration of the machine nor that of the user counts, no hooks,
// submodules, filters or Git LFS, and git may use no other way than the address names. Whoever needs to know who made a commit calls Verify.
//
// Each repository has a cache, a bare repository, in which one commit at a time is fetched without its history. Several processes may use one.
package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
)

// Limits bound what a repository may bring. A field that is 0 stands for its default.
type Limits struct {
	Cache  int64 // bytes of the cache of a repository: 1 GiB
	Bytes  int64 // of the files that are extracted together: 256 MiB
	Files  int   // 20,000
	Depth  int   // names in a path: 32
	Memory int64 // bytes of address space of git and of each program that it begins: 4 GiB
	// History is how many commits are looked at for an ancestor: 100,000.
	History int
}

func (l Limits) complete() Limits {
	set := func(n *int64, standard int64) {
		if *n <= 0 {
			*n = standard
		}
	}
	files, depth, history := int64(l.Files), int64(l.Depth), int64(l.History)
	set(&l.Cache, 1<<30)
	set(&l.Bytes, 256<<20)
	set(&files, 20000)
	set(&depth, 32)
	set(&l.Memory, 4<<30)
	set(&history, 100000)
	l.Files, l.Depth, l.History = int(files), int(depth), int(history)
	return l
}

// Credentials say how a host is told who asks. They never stand in arguments, in the environment or in errors.
type Credentials struct {
	TokenFile string // its first line is a token or a password, for https; empty: none
	User      string // for the token; empty: that of the address, or "git"
	Helper    string // path of a program that git asks, as in gitcredentials(7); empty: none
	SSHKey    string // path of a private key; empty: those that ssh finds
	// KnownHosts is a file of the keys of hosts; empty: those that ssh knows. A host that is not known is never taken.
	KnownHosts string
}

// Client says how repositories are asked. All but Dir may be left out.
type Client struct {
	Dir         string // where caches are, an absolute path
	Program     string // empty: git
	Credentials Credentials
	CAFile      string // certificates of authorities that sign those of servers; empty: those of the machine
	PlainHTTP   bool   // http is taken for all hosts; without it only for those at a loopback address
	Limits      Limits
	// Timeout is how long one call may take altogether; 0: ten minutes.
	Timeout time.Duration
	// Getenv gives variables of the environment, of which git gets those of proxies, PATH, TMPDIR and SSH_AUTH_SOCK; nil: there are none.
	Getenv func(name string) string

	once    sync.Once
	program error // why git cannot be used
}

// Repository is one repository, and its cache.
type Repository struct {
	client *Client
	url    *url.URL
	dir    string // of the bare repository
	limits Limits
}

// Repository gives the repository at an address, which is not asked yet.
func (c *Client) Repository(address string) (*Repository, error) {
	wrong := func(err error, hint string) error {
		return &diag.HintError{Code: "address", Message: err.Error(), Hint: hint}
	}
	if err := checkURL(address); err != nil {
		return nil, wrong(err, "write https://git.example/acme/net.git")
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, wrong(err, "")
	}
	if u.Scheme == "http" && !c.PlainHTTP && !isLoopback(u.Hostname()) {
		return nil, wrong(fmt.Errorf("%s is read without encryption", address), "write https://; only repositories of this machine are asked by http, unless it is asked for")
	}
	if !filepath.IsAbs(c.Dir) {
		return nil, wrong(fmt.Errorf("%q is no absolute path of a directory for repositories", c.Dir), "")
	}
	sum := sha256.Sum256([]byte(address))
	return &Repository{client: c, url: u, dir: filepath.Join(c.Dir, hex.EncodeToString(sum[:16])), limits: c.Limits.complete()}, nil
}

// URL is the address of the repository.
func (r *Repository) URL() string { return r.url.String() }

// withTimeout bounds the time of a call.
func (r *Repository) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := r.client.Timeout
	if timeout <= 0 {
		timeout = 10 * time.Minute
	}
	return context.WithTimeoutCause(ctx, timeout, &diag.HintError{Code: "timeout", Message: fmt.Sprintf("%s: it took longer than %v", r.URL(), timeout),
		Hint: "try it again; a repository that is slow for long may be behind a slow network"})
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Unmap().IsLoopback() || net.ParseIP(host).IsLoopback()
}
