package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Encode writes a message as JSON: an object with its kind as the only key.
func Encode(m Message) ([]byte, error) { return json.Marshal(map[string]Message{m.kind(): m}) }

// newMessage makes an empty message of a kind; nil: none is known.
func newMessage(kind string) Message {
	for _, m := range []Message{&Hello{}, &Answer{}, &Refusal{}, &Batch{}, &Stored{}, &Wake{}, &Pulse{}, &Shown{}, &Claim{}, &Turn{}} {
		if m.kind() == kind {
			return m
		}
	}
	return nil
}

// Decode reads what Encode writes. Whoever sent it may have sent anything: the content is checked by who takes it in.
func Decode(data []byte) (Message, error) {
	var object map[string]json.RawMessage
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&object); err != nil {
		return nil, fmt.Errorf("a message cannot be read: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("a message is followed by something else")
	}
	if len(object) != 1 {
		return nil, fmt.Errorf("what was sent is %d messages", len(object))
	}
	for kind, content := range object {
		m := newMessage(kind)
		if m == nil || string(content) == "null" {
			return nil, fmt.Errorf("%.40q is no message that is known here", kind)
		}
		if err := json.Unmarshal(content, m); err != nil {
			return nil, fmt.Errorf("a message cannot be read: %w", err)
		}
		return m, nil
	}
	return nil, errors.New("there is no message")
}
