package become

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"time"
	"unicode/utf8"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
	"github.com/tenetcm/tenet/runtime/wire"
)

// protocol is the version of what is said. Both sides are the same program.
const protocol = "tenet.become/1"

// The frames. Each but the hello begins with the number of its call.
const (
	kindHello          wire.Kind = 'h' // a hello: the first one, of who serves
	kindCall           wire.Kind = 'c' // a piece of a call
	kindReply          wire.Kind = 'r' // a piece of the reply to it
	kindOutput         wire.Kind = 'o' // what a program prints, if it is watched: 1 or 2, and bytes
	kindContentRequest wire.Kind = 'g' // who serves wants more of the content that is written; 1: from its start
	kindContent        wire.Kind = 'p' // that: what it is (contentData and so on), and bytes
	kindCancel         wire.Kind = 'x' // the call is to end
	kindPing           wire.Kind = 'q' // is anybody there? Of no call, as the answer
	kindPong           wire.Kind = 'a' // the answer
)

// What is given of a content.
const (
	contentData byte = iota
	contentEnd
	contentError // and the message
)

const (
	idSize     = 8
	pieceSize  = 256 << 10
	maxMessage = 64 << 20 // of the pieces of one message
	maxCalls   = 1 << 10  // at a time
)

// hello is what who serves says of itself.
type hello struct {
	Protocol string `json:"protocol"`
	UID      int    `json:"uid"`
	GID      int    `json:"gid"`
	Running  bool   `json:"running"` // see host.Running

	Credentials host.Credentials `json:"credentials"`
}

// text is a text of whatever bytes: names of files need not be UTF-8, which JSON wants.
type text string

// MarshalJSON writes it as a string, or as a list with its bytes.
func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal([][]byte{[]byte(t)})
}

// UnmarshalJSON reads that.
func (t *text) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		var list [1][]byte
		err := json.Unmarshal(data, &list)
		*t = text(list[0])
		return err
	}
	return json.Unmarshal(data, (*string)(t))
}

// call asks for something to be done: a method of the host, or of what it has opened.
type call struct {
	Op       string `json:"op"`
	Run      string `json:"run,omitempty"`       // see host.Runner
	Part     string `json:"part,omitempty"`      // see host.WithPart
	NoFollow bool   `json:"no_follow,omitempty"` // see host.NoFollower
	Dir      uint64 `json:"dir,omitempty"`       // the directory that Path is a name in
	File     uint64 `json:"file,omitempty"`

	Path    text          `json:"path,omitempty"`
	Target  text          `json:"target,omitempty"`
	Meta    host.Meta     `json:"meta"`
	Content *content      `json:"content,omitempty"`
	Fresh   bool          `json:"fresh,omitempty"`
	N       int           `json:"n,omitempty"`
	Command *command      `json:"command,omitempty"`
	Verb    host.Verb     `json:"verb,omitempty"`
	User    string        `json:"user,omitempty"`
	Links   [2]links.Link `json:"links,omitzero"`
}

// content is that of a file. What is inline follows the call.
type content struct {
	Inline bool   `json:"inline,omitempty"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"`
}

// command is a host.Command. Its standard input follows the call.
type command struct {
	Argv      []text `json:"argv"`
	Env       []text `json:"env,omitempty"`
	Dir       text   `json:"dir,omitempty"`
	User      text   `json:"user,omitempty"`
	MaxOutput int    `json:"max_output,omitempty"`
	Watch     bool   `json:"watch,omitempty"`
	Query     bool   `json:"query,omitempty"`
	Reads     []text `json:"reads,omitempty"`
	Keep      bool   `json:"keep,omitempty"`
}

// reply is what came of a call.
type reply struct {
	Failure *failure `json:"failure,omitempty"`

	Info     *info          `json:"info,omitempty"`
	Entries  []entry        `json:"entries,omitempty"`
	Text     text           `json:"text,omitempty"`
	Access   *host.Access   `json:"access,omitempty"`
	Open     uint64         `json:"open,omitempty"` // the number of what was opened
	End      bool           `json:"end,omitempty"`  // of the file; it is closed
	ExitCode int            `json:"exit_code,omitempty"`
	Stdout   int            `json:"stdout,omitempty"` // how much of what follows it is; the rest is stderr
	Cut      bool           `json:"cut,omitempty"`    // host.Result.Truncated
	Services []host.Service `json:"services,omitempty"`
	Links    []links.Link   `json:"links,omitempty"`
}

// info is a host.Info.
type info struct {
	Kind    host.Kind   `json:"kind"`
	Mode    fs.FileMode `json:"mode"`
	UID     int         `json:"uid"`
	GID     int         `json:"gid"`
	Size    int64       `json:"size"`
	Seconds int64       `json:"s"` // of ModTime
	Nanos   int64       `json:"ns"`
	Device  uint64      `json:"dev,omitempty"`
	Inode   uint64      `json:"ino,omitempty"`
	Birth   *time.Time  `json:"birth,omitempty"`
	Mount   bool        `json:"mount,omitempty"`
}

func infoOf(i host.Info) *info {
	out := &info{
		Kind: i.Kind, Mode: i.Mode, UID: i.UID, GID: i.GID, Size: i.Size, Seconds: i.ModTime.Unix(), Nanos: int64(i.ModTime.Nanosecond()),
		Device: i.ID.Device, Inode: i.ID.Inode, Mount: i.Mount,
	}
	if !i.Birth.IsZero() {
		out.Birth = &i.Birth
	}
	return out
}

func (i *info) host() host.Info {
	if i == nil {
		return host.Info{}
	}
	out := host.Info{Kind: i.Kind, Mode: i.Mode, UID: i.UID, GID: i.GID, Size: i.Size, ModTime: time.Unix(i.Seconds, i.Nanos),
		ID: host.FileID{Device: i.Device, Inode: i.Inode}, Mount: i.Mount}
	if i.Birth != nil {
		out.Birth = *i.Birth
	}
	return out
}

type entry struct {
	Name text      `json:"n"`
	Kind host.Kind `json:"k"`
}

func textsOf(list []string) []text {
	out := make([]text, len(list))
	for i, s := range list {
		out[i] = text(s)
	}
	return out
}

func stringsOf(list []text) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// sendMessage sends a call or a reply with what follows it, in pieces.
func sendMessage(c *wire.Conn, kind wire.Kind, id uint64, head any, payload []byte) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if len(text)+len(payload) > maxMessage {
		return fmt.Errorf("%d bytes are too many to pass on to another account", len(text)+len(payload))
	}
	body := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(text)+len(payload)), uint32(len(text)))
	body = append(append(body, text...), payload...)
	for {
		piece := body[:min(pieceSize, len(body))]
		body = body[len(piece):]
		last := byte(0)
		if len(body) == 0 {
			last = 1
		}
		frame := append(binary.BigEndian.AppendUint64(make([]byte, 0, idSize+1+len(piece)), id), last)
		if err := c.Write(kind, append(frame, piece...)); err != nil || last == 1 {
			return err
		}
	}
}

// sendShort sends another frame of a call.
func sendShort(c *wire.Conn, kind wire.Kind, id uint64, what byte, data []byte) error {
	frame := append(binary.BigEndian.AppendUint64(make([]byte, 0, idSize+1+len(data)), id), what)
	return c.Write(kind, append(frame, data...))
}

// shortFrame is a frame without the number of its call.
type shortFrame struct {
	kind wire.Kind
	what byte
	data []byte
}

// parseFrame takes a frame apart.
func parseFrame(f wire.Frame) (id uint64, s shortFrame, err error) {
	if len(f.Data) < idSize+1 {
		return 0, s, &wire.ProtocolError{Message: fmt.Sprintf("a %q frame is too short", f.Kind)}
	}
	return binary.BigEndian.Uint64(f.Data), shortFrame{f.Kind, f.Data[idSize], f.Data[idSize+1:]}, nil
}

// message is one of which pieces come.
type message struct{ body []byte }

// add adds a piece, and reports whether it was the last.
func (m *message) add(s shortFrame) (bool, error) {
	if len(m.body)+len(s.data) > maxMessage+4 {
		return false, &wire.ProtocolError{Message: "a message is too large"}
	}
	m.body = append(m.body, s.data...)
	return s.what == 1, nil
}

// read reads the head, and gives what follows it.
func (m *message) read(head any) ([]byte, error) {
	if len(m.body) < 4 {
		return nil, &wire.ProtocolError{Message: "a message is too short"}
	}
	n := binary.BigEndian.Uint32(m.body)
	if uint64(n) > uint64(len(m.body)-4) {
		return nil, &wire.ProtocolError{Message: "a message is cut short"}
	}
	if err := json.Unmarshal(m.body[4:4+n], head); err != nil {
		return nil, &wire.ProtocolError{Message: fmt.Sprintf("a message cannot be read: %v", err)}
	}
	return m.body[4+n:], nil
}
