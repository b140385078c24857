package states

import (
	"context"

	"github.com/tenetcm/tenet/runtime/host"
)

type peersKey struct{}

type sayKey struct{}

type noteKey struct{}

type declaredKey struct{}

// WithPeers lets Peers answer.
func WithPeers(ctx context.Context, peers func(typ string) []any) context.Context {
	return context.WithValue(ctx, peersKey{}, peers)
}

// Peers gives the resources of a type that are to be present by the end of the run,
// as far as that is known from its start, so that a module can ask the host once
// for all of them. There are none outside of a run.
func Peers[T any](ctx context.Context, typ string) []T {
	peers, ok := ctx.Value(peersKey{}).(func(string) []any)
	if !ok {
		return nil
	}
	var out []T
	for _, p := range peers(typ) {
		if r, ok := p.(*T); ok {
			out = append(out, *r)
		}
	}
	return out
}

// WithDeclared lets Declared answer.
func WithDeclared(ctx context.Context, below func(dir string) []string) context.Context {
	return context.WithValue(ctx, declaredKey{}, below)
}

// Declared gives what parts of the site stand for below a directory, relative to it,
// so that a module which removes what it does not know leaves that alone. It is
// nothing outside of a run.
func Declared(ctx context.Context, dir string) []string {
	below, ok := ctx.Value(declaredKey{}).(func(string) []string)
	if !ok {
		return nil
	}
	return below(dir)
}

// WithSay lets Say be heard.
func WithSay(ctx context.Context, say func(text string)) context.Context {
	return context.WithValue(ctx, sayKey{}, say)
}

// Say tells the user what an act that takes long waits for. It is an event of its
// own, and changes nothing.
func Say(ctx context.Context, text string) {
	if say, ok := ctx.Value(sayKey{}).(func(string)); ok {
		say(text)
	}
}

// WithNote lets Note be heard.
func WithNote(ctx context.Context, note func(text string)) context.Context {
	return context.WithValue(ctx, noteKey{}, note)
}

// Note tells the user what a part leaves alone though it might be expected to change it,
// in a plan as well. The same text is told once.
func Note(ctx context.Context, text string) {
	if note, ok := ctx.Value(noteKey{}).(func(string)); ok {
		note(text)
	}
}

// NoteMount tells that what is at a path stays as it is, since a file system is mounted there.
func NoteMount(ctx context.Context, path string) {
	Note(ctx, path+" stays as it is: "+host.ErrMount.Error())
}

// UncertainError is what only the act can know: in a plan the reason why the row is
// not certain.
type UncertainError struct{ Reason string }

// Error gives the reason.
func (e *UncertainError) Error() string { return e.Reason }

// Unwrap says that it cannot be foreseen.
func (e *UncertainError) Unwrap() error { return host.ErrUnforeseeable }

// EffectsError is the error of an act in a plan that has found out what it may touch: more than
// Type.Effects knows, or less.
type EffectsError struct {
	Effects Effects
	Err     error // wraps host.ErrUnforeseeable
}

// Error gives the error.
func (e *EffectsError) Error() string { return e.Err.Error() }

// Unwrap gives the error.
func (e *EffectsError) Unwrap() error { return e.Err }

// MissingError is the error of an Act whose object is not on the host at all, such as a
// service that is not installed. A handler that a notification has started then has nothing
// to do; any other act fails.
type MissingError struct{ Err error }

// Error gives what is missing.
func (e *MissingError) Error() string { return e.Err.Error() }

// Unwrap gives the error.
func (e *MissingError) Unwrap() error { return e.Err }

// FinalError is an error that would come again in the same way, so that no further
// attempt is made, unless the part has its own retry option.
type FinalError struct{ Err error }

// Error gives the error.
func (e *FinalError) Error() string { return e.Err.Error() }

// Unwrap gives the error.
func (e *FinalError) Unwrap() error { return e.Err }
