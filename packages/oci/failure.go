package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/tenetcm/tenet/lang/diag"
)

// CodeNotFound is the code of errors about what a registry does not have.
const CodeNotFound = "not_found"

// explain says of what an error is, in words of tenet's. What a registry writes into its answers is shortened.
func explain(ctx context.Context, ref Reference, err error) error {
	if err == nil {
		return nil
	}
	tell := func(code, hint, format string, args ...any) error {
		message := diag.Shorten(fmt.Sprintf(format, args...))
		if !strings.HasPrefix(message, ref.String()) {
			message = ref.String() + ": " + message
		}
		return &diag.HintError{Code: code, Message: message, Hint: hint, Err: err}
	}
	var hinted *diag.HintError
	var answer *errcode.ErrorResponse
	var lost *url.Error
	var path *fs.PathError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return tell("timeout", "try it again; a registry that is slow for long may be behind a slow network", "the registry takes too long")
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &hinted):
		return tell(hinted.Code, diag.HintOf(err), "%v", err)
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return tellCredentials(tell, ref)
	case errors.As(err, &answer):
		return explainAnswer(tell, ref, answer)
	case errors.Is(err, errdef.ErrNotFound):
		return tell(CodeNotFound, "look at the name and the version", "the registry has no such package")
	case errors.As(err, &path) && path.Err != nil:
		return err
	case errors.As(err, &lost):
		return explainConnection(tell, ref, lost)
	}
	return tell("registry", "", "%v", err)
}

type teller func(code, hint, format string, args ...any) error

func tellCredentials(tell teller, ref Reference) error {
	return tell("credentials", fmt.Sprintf("docker login %s or podman login %s keeps credentials where tenet finds them", ref.Registry, ref.Registry),
		"the registry wants credentials, and none are known")
}

func explainAnswer(tell teller, ref Reference, answer *errcode.ErrorResponse) error {
	words := http.StatusText(answer.StatusCode)
	if len(answer.Errors) > 0 {
		words = answer.Errors.Error()
	}
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return tell("credentials", fmt.Sprintf("docker login %s or podman login %s keeps credentials where tenet finds them; they have to allow what is done", ref.Registry, ref.Registry),
			"the registry does not let you do this: %d, %s", answer.StatusCode, words)
	case http.StatusNotFound:
		return tell(CodeNotFound, "look at the name and the version", "the registry has no such package: %s", words)
	case http.StatusTooManyRequests:
		return tell("busy", "wait, or log in: many registries let those do more whom they know", "the registry is asked too often")
	}
	return tell("registry", "", "the registry answers with status %d: %s", answer.StatusCode, words)
}

func explainConnection(tell teller, ref Reference, lost *url.Error) error {
	hint := "look at the name of the registry and at the network"
	if strings.Contains(lost.Err.Error(), "server gave HTTP response to HTTPS client") {
		hint = "it has no encryption: have it speak HTTPS; only registries of this machine are asked without"
	}
	return tell("unreachable", hint, "the registry %s cannot be asked: %v", ref.Registry, lost.Err)
}

// isLost reports whether it is the way to the registry, or the registry as a whole, that is at fault: what was asked for may be good.
func isLost(err error) bool {
	if _, isOurs := errors.AsType[*diag.HintError](err); isOurs { // such as a redirection that is not followed
		return false
	}
	if answer, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		return answer.StatusCode >= http.StatusInternalServerError || answer.StatusCode == http.StatusTooManyRequests
	}
	_, isConnection := errors.AsType[*url.Error](err)
	_, isNetwork := errors.AsType[net.Error](err)
	return isConnection || isNetwork || errors.Is(err, io.ErrUnexpectedEOF)
}
