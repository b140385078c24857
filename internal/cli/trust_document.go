package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/channel"
	"github.com/tenetcm/tenet/runtime/trust"
	api "github.com/tenetcm/tenet/server/api/client"
)

type trustDraftCmd struct{}

// Run prints the document that follows the newest.
func (cmd *trustDraftCmd) Run(ctx runContext, s *client) error {
	server, err := s.server()
	if err != nil {
		return err
	}
	var list []*trust.Signed
	for one, err := range server.TrustDocuments(ctx) {
		if err != nil {
			return failure(err)
		}
		list = append(list, one)
	}
	chain, err := trust.ParseChain(list)
	if err != nil {
		return failure(err)
	}
	newest := chain.Newest()
	if newest == nil {
		return failure(errors.New("the server has no trust document"))
	}
	next := *newest
	next.Number, next.Issued = next.Number+1, time.Now().UTC().Truncate(time.Second)
	return s.printJSON(next)
}

type trustSignCmd struct {
	Document string `arg:"" help:"The document, as \"tenet trust draft\" prints it: a file, or - for standard input."`
	Key      string `required:"" help:"The file of a private key that may sign trust." placeholder:"FILE"`
}

// Run signs a document, and prints what \"tenet trust add\" takes.
func (cmd *trustSignCmd) Run(_ runContext, s *client) error {
	text, err := s.readDocument(cmd.Document)
	if err != nil {
		return err
	}
	var d trust.Document
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields() // a mistyped field would be left out
	err = decoder.Decode(&d)
	if err == nil && decoder.More() {
		err = errors.New("there is more than one value in it")
	}
	if err == nil {
		err = d.Check()
	}
	if err == nil {
		err = checkServerName(d.Keys)
	}
	if err != nil {
		return failure(&diag.HintError{Code: "invalid", Message: "this is no trust document: " + err.Error(), Hint: "begin with what \"tenet trust draft\" prints"})
	}
	key, err := readSigningKey(cmd.Key)
	if err != nil {
		return failure(err)
	}
	signed, err := trust.Sign(trust.KindDocument, d, key)
	if err != nil {
		return failure(err)
	}
	return s.printJSON(signed)
}

// checkServerName refuses a document in which more than one key has the name of the server's. Which of them is the server's, only the server knows: it refuses any other.
func checkServerName(keys []trust.Delegated) error {
	var first *trust.Delegated
	for i, k := range keys {
		if !strings.EqualFold(strings.TrimSpace(k.Name), channel.ServerKey) {
			continue
		}
		if first != nil {
			return fmt.Errorf("the keys %s and %s both have the name %q, which is that of the server's own key", first.Key, k.Key, k.Name)
		}
		first = &keys[i]
	}
	return nil
}

type trustAddCmd struct {
	Document string `arg:"" help:"What \"tenet trust sign\" has printed: a file, or - for standard input."`
	Reason   string `short:"m" help:"Why, for the audit." placeholder:"TEXT"`
}

// Run adds a document.
func (cmd *trustAddCmd) Run(ctx runContext, s *client) error {
	text, err := s.readDocument(cmd.Document)
	if err != nil {
		return err
	}
	var signed trust.Signed
	if err := json.Unmarshal(text, &signed); err != nil || len(signed.Content) == 0 || len(signed.Signatures) == 0 {
		return failure(&diag.HintError{Code: "invalid", Message: "this is no signed trust document", Hint: "add what \"tenet trust sign\" prints"})
	}
	return s.changeTrust(func(server *api.Client) (api.Trusted, error) {
		return server.AddTrustDocument(ctx, &signed, cmd.Reason)
	})
}

// maxDocument bounds a document that is read.
const maxDocument = 8 << 20

func (s *client) readDocument(name string) (text []byte, err error) {
	if name == "-" {
		text, err = io.ReadAll(io.LimitReader(s.In, maxDocument))
	} else {
		text, err = readSome(name, maxDocument)
	}
	if err != nil {
		return nil, usage("", "the document cannot be read: %w", err)
	}
	return text, nil
}
