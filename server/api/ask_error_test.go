package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/sessions"
)

// What a host says never becomes a status that is about the caller or the server.
func TestHostError(t *testing.T) {
	said := func(code string) error {
		return &machine.Error{HintError: diag.HintError{Code: code, Message: "no"}, Machine: "web1"}
	}
	silent, cancel := context.WithTimeoutCause(t.Context(), 0, errNoAnswer(time.Second))
	defer cancel()
	<-silent.Done()
	for _, test := range []struct {
		bounded context.Context
		err     error
		code    string
		status  int
	}{
		{t.Context(), said(access.CodeUnknown), codeRefused, http.StatusConflict},
		{t.Context(), said(codeStandby), codeRefused, http.StatusConflict},
		{t.Context(), said("any"), codeRefused, http.StatusConflict},
		{t.Context(), said(machine.CodeLocked), machine.CodeLocked, http.StatusConflict},
		{t.Context(), &machine.ConnectionError{Err: io.ErrUnexpectedEOF}, sessions.CodeAway, http.StatusConflict},
		{t.Context(), &diag.HintError{Code: access.CodeForbidden, Message: "no grant"}, access.CodeForbidden, http.StatusForbidden},
		{silent, errors.New("the line is closed"), sessions.CodeAway, http.StatusConflict},
	} {
		p := (&API{}).problem(hostError(t.Context(), test.bounded, test.err))
		if p.Code != test.code || p.Status != test.status || p.Hint == "" && test.code == sessions.CodeAway {
			t.Errorf("%v is %d %s %q", test.err, p.Status, p.Code, p.Hint)
		}
	}
	if err := hostError(t.Context(), silent, nil); err != nil {
		t.Errorf("what was answered is %v", err)
	}
}
