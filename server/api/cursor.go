package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/server/access"
)

// Page is the part of a list that is asked for; the input of an operation embeds it.
type Page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many at most."`
	Cursor string `query:"cursor" maxLength:"4096" doc:"Where to go on: next of the page before, with the same filters."`
}

// List is a page of a list.
type List[T any] struct {
	Items []T    `json:"items" nullable:"false"`
	Next  string `json:"next,omitempty" doc:"The cursor of the next page; none: this is the last one."`
}

// ListOutput is the output of an operation that lists.
type ListOutput[T any] struct{ Body List[T] }

// ReadCursor gives where a page begins, as NewCursor was told; false: at the begin of the list.
// The name of a list is that of the operation with its filters: a cursor is good for that, and for
// the caller who got it, alone.
func (a *API) ReadCursor(c *access.Caller, list, cursor string, position any) (bool, error) {
	if cursor == "" {
		return false, nil
	}
	wrong := newProblem(codeCursor, "the cursor is not one of this list, with these filters", "begin at the first page, without a cursor")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < sha256.Size || !hmac.Equal(raw[:sha256.Size], a.signCursor(c, list, raw[sha256.Size:])) {
		return false, wrong
	}
	if json.Unmarshal(raw[sha256.Size:], position) != nil {
		return false, wrong
	}
	return true, nil
}

// NewCursor gives the cursor of what comes after a position.
func (a *API) NewCursor(c *access.Caller, list string, position any) (string, error) {
	text, err := plainjson.Marshal(position)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(a.signCursor(c, list, text), text...)), nil
}

func (a *API) signCursor(c *access.Caller, list string, text []byte) []byte {
	mac := hmac.New(sha256.New, a.o.CursorKey)
	for _, part := range []string{c.Name, list, string(text)} {
		sum := sha256.Sum256([]byte(part))
		mac.Write(sum[:])
	}
	return mac.Sum(nil)
}

// NewPage makes a page of up to limit+1 items, of which the last one only shows that there is more.
// Position says where the list goes on after an item.
func NewPage[T any](a *API, c *access.Caller, list string, limit int, items []T, position func(T) any) (*ListOutput[T], error) {
	out := &ListOutput[T]{Body: List[T]{Items: items}}
	if items == nil {
		out.Body.Items = []T{}
	}
	if len(items) > limit {
		out.Body.Items = items[:limit]
		next, err := a.NewCursor(c, list, position(items[limit-1]))
		if err != nil {
			return nil, err
		}
		out.Body.Next = next
	}
	return out, nil
}
