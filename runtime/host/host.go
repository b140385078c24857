// Package host is the machine that a module acts on, and the only way out of
// tenet: files, accounts and processes. There are three: Local, the machine
// itself or a tree below a root; Memory, for tests; and Shadow, a copy-on-write
// view of another host on which a plan is carried out.
//
// All of them pass the suite in hosttest, so that a module cannot tell them
// apart. Paths are absolute and slash-separated; "..", symbolic links and
// absolute link targets are resolved within the host's root, never out of it.
package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// Host is a machine. Its methods may be called from several goroutines.
//
// Errors about paths are *fs.PathError and wrap fs.ErrNotExist, fs.ErrExist,
// fs.ErrPermission or a syscall.Errno where these fit.
type Host interface {
	Reader
	Writer
	Processes
	Accounts
	Capabilities
}

// Reader looks at files. Nothing it does changes the host, access times apart.
type Reader interface {
	// Lstat describes what is at the path, a symbolic link itself included.
	Lstat(path string) (Info, error)
	// ReadDir lists a directory, sorted by name. A symbolic link is not
	// followed.
	ReadDir(path string) ([]Entry, error)
	// ReadLink gives the target of a symbolic link as it is written there.
	ReadLink(path string) (string, error)
	// Open opens a regular file for reading. A symbolic link is followed;
	// anything but a regular file is an error, so that a FIFO never blocks.
	Open(path string) (io.ReadCloser, error)
}

// Writer changes files. Parent directories must exist.
type Writer interface {
	// WriteFile puts a regular file with this content at the path, atomically:
	// a temporary file in the same directory, with owner and mode set, renamed
	// over what is there. It replaces a file or a symbolic link (never through
	// the link), and refuses a directory. What Meta leaves open is taken
	// from the regular file that is replaced, and so are its access control list and
	// its other attributes, save those that are about its content, as setuid and setgid are, and a list
	// that names others where Meta.TakesOver; for a new one it is mode 0644 and the acting user.
	WriteFile(ctx context.Context, path string, c Content, m Meta) error
	// Mkdir creates one directory; open parts of Meta are mode 0755 and the
	// acting user. An existing path is fs.ErrExist.
	Mkdir(path string, m Meta) error
	// Symlink puts a symbolic link at the path, replacing a link or a
	// regular file atomically. Meta.Mode is ignored.
	Symlink(target, path string, m Meta) error
	// SetMeta changes owner and mode of what is at the path. A symbolic link
	// is not followed: its owner is changed, and its mode is left. Where Meta.TakesOver, whoever
	// is named in an access control list loses that, and a directory its default list.
	SetMeta(path string, m Meta) error
	// Remove removes a file, a link or an empty directory.
	Remove(path string) error
}

// Processes starts programs.
type Processes interface {
	// Run starts a program that may change the host, and waits for it. An exit
	// status other than 0 is no error. When ctx ends, the program's whole
	// process group is ended (SIGTERM, then SIGKILL) and the error wraps
	// context.Cause. On a Shadow the error is ErrUnforeseeable.
	Run(ctx context.Context, c Command) (Result, error)
	// Query starts a program that only reads, which the caller promises. A
	// Shadow lets it through only while what it reads is untouched.
	Query(ctx context.Context, q Query) (Result, error)
}

// Accounts looks up users and groups. What is not there is fs.ErrNotExist.
type Accounts interface {
	User(name string) (User, error)
	UserID(uid int) (User, error)
	Group(name string) (Group, error)
	GroupID(gid int) (Group, error)
}

// Syncer makes all earlier writes durable; it is called once for a batch of parts.
type Syncer interface {
	Sync() error
}

// OthersSyncer is an ability of hosts whose Sync makes durable only what this process has written: SyncAll does so for what others have,
// such as a process that has died.
type OthersSyncer interface {
	SyncAll() error
}

// Actor knows who acts on a host: the owner of what is written without one.
type Actor interface {
	Actor() (uid, gid int)
}

// ErrUnforeseeable is what a Shadow answers when only the real host can know.
var ErrUnforeseeable = errors.New("cannot be foreseen without doing it")

// ErrUnanswerable is the ErrUnforeseeable of a Query: what it reads, or may
// read, is changed by earlier steps. Nothing would be changed by asking.
var ErrUnanswerable = fmt.Errorf("%w: the answer depends on earlier steps", ErrUnforeseeable)

// Kind is what stands at a path.
type Kind string

// The kinds. Other is a device, a socket or a FIFO.
const (
	Regular   Kind = "file"
	Directory Kind = "directory"
	Symlink   Kind = "symlink"
	Other     Kind = "special file"
)

// Info describes what stands at a path.
type Info struct {
	Kind    Kind
	Mode    fs.FileMode // permission bits with ModeSetuid, ModeSetgid, ModeSticky; no type bits
	UID     int
	GID     int
	Size    int64
	ModTime time.Time
	// ID tells what stands there from anything else that stands elsewhere, or has stood
	// there; zero where the host does not know.
	ID FileID
	// Birth is when it was made; zero where the file system does not keep it. A directory
	// of an overlay's lower layer gets another one with its first change.
	Birth time.Time
	// Mount is set where a file system is mounted on it, a bind mount of the same device
	// included.
	Mount bool
}

// FileID is the identity of a file, a directory or a link while it is there.
type FileID struct{ Device, Inode uint64 }

// Entry is one name in a directory.
type Entry struct {
	Name string
	Kind Kind
}

// Meta is owner and mode; nil means "as it is".
type Meta struct {
	Mode *fs.FileMode // bits as in Info.Mode
	UID  *int
	GID  *int
	// Like names a file in the same directory, of which a new file is a copy: it gets
	// that one's access control list too, and the attributes that users have given it.
	Like string `json:",omitempty"`
}

// Command is a program to start. Nothing passes through a shell.
type Command struct {
	Argv  []string // Argv[0] is looked up in PATH of Env, or of the host's default environment
	Env   []string // "NAME=value", in addition to the host's default environment
	Dir   string   // working directory, "/" when empty
	Stdin []byte
	User  string // the account to run as; empty: the acting user
	// MaxOutput bounds what is kept of each output stream, in bytes, and
	// counts from its start; 0 means 1 MiB. What exceeds it is read and
	// dropped, and Result.Truncated is set.
	MaxOutput int
	// Watch, where given, gets all output as it comes: "stdout" or "stderr",
	// and bytes that it must not keep. It is called from one goroutine for
	// each stream.
	Watch func(stream string, data []byte)
	// Check says that the program judges what is there, and changes nothing: what has been done
	// is undone without it.
	Check bool
}

// Query is a Command that changes nothing.
type Query struct {
	Command
	// Reads are the paths whose content the answer depends on, directories
	// with all below them. None: it depends on nothing that tenet writes.
	Reads []string
	// Keep lets a host give the answer that it got before to the same question,
	// if nothing below Reads has changed since.
	Keep bool
}

// Result is how a program ended.
type Result struct {
	ExitCode  int // 128 + signal when a signal ended it
	Stdout    []byte
	Stderr    []byte
	Truncated bool
}

// User is one line of passwd.
type User struct {
	Name    string
	UID     int
	GID     int
	Comment string
	Home    string
	Shell   string
}

// Group is one line of group.
type Group struct {
	Name    string
	GID     int
	Members []string
}
