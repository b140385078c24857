// Package states holds what a module is (Define, Schema, Registry) and the
// plain data that one stage hands to the next: declarations, StateRun, events
// and report.
package states

import (
	"context"
	"errors"
	"io/fs"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/host"
)

// Module is a type of part: its schema, and functions over its resources. A
// resource, wanted or observed, is an opaque value that only the module's own
// functions look into; Decode and Encode turn canonical values into one and
// back. Define makes a Module of a Go struct.
//
// A module either Reads and Writes (and mostly Removes) something that can be
// looked at, or it Acts. Functions that it does not offer are nil; Decode,
// Encode and Check are always there.
type Module struct {
	Schema

	// Decode makes a resource of canonical values. Sources are opened in site.
	Decode func(values map[string]any, site fs.FS) (any, error)
	// Encode gives a resource's canonical values; attributes that are not
	// managed are left out.
	Encode func(resource any) map[string]any
	// Check says what is wrong with a resource whatever the host: the
	// schema's rules, then the module's own. An *AttributeError names the
	// attribute.
	Check func(resource any) error
	// Fill completes what is wanted: attributes that it does not manage come
	// from have or, where nothing is there (nil), from the module's defaults
	// for new resources.
	Fill func(have, want any) any
	// Diff lists the attributes of have that differ from want, which Fill has
	// completed; with have nil, all that will be set. With want nil, all that
	// will be gone.
	Diff func(have, want any) []Change

	// Claims gives what a part with these canonical values, which lack what is known only
	// later, holds to be so beside its own resource; see Claim.
	Claims func(values map[string]any, absent bool) []Claim
	// Needs gives the accounts, as Schema.Accounts lists them, that have to be there for a
	// part with these values beside those that stand in attributes of their own.
	Needs func(values map[string]any) []string

	// Complete fills in what only the host knows, by Queries alone.
	Complete func(ctx context.Context, h host.Host, want any) (any, error)
	// Read says what is there; nil: nothing.
	Read func(ctx context.Context, h host.Host, want any) (any, error)
	// Write makes have (nil: nothing there) into want. It is called only on a
	// difference, with want completed by Fill.
	Write func(ctx context.Context, h host.Host, have, want any) error
	// Remove takes away what is there, as Read returned it: what Remove must
	// know of the wanted part, Read copies. A type without it cannot be absent.
	Remove func(ctx context.Context, h host.Host, have any) error
	// Act does what is no resource: a command, a reload. It returns whether it
	// changed the host and what was observed. It runs in plans too, on a
	// Shadow, where the first Run ends it with host.ErrUnforeseeable.
	Act func(ctx context.Context, h host.Host, want any) (changed bool, out any, err error)
	// Changes lists what an act has changed, or would, by what it has observed.
	Changes func(out any) []Change
	// Foresee writes into a Shadow what can be known of Write (or of Remove,
	// when want is nil) of a module that must Run something. What follows
	// stays certain.
	Foresee func(ctx context.Context, h host.Host, have, want any) error
	// Effects tells what an act for this wanted resource may touch beside what a Shadow shows
	// of it; absent: the act that takes it away. Nil: nobody knows what programs and services
	// do that it starts.
	Effects func(want any, absent bool) Effects
	// Makes, of a module whose one part makes many things below its path, lists what
	// Write is about to do there, with which of it is new. What it made is removed,
	// as long as it is as it was left, once the part is not declared any more.
	Makes func(ctx context.Context, h host.Host, have, want any) ([]TreeChange, error)
	// Recover tells how an act ended that was begun and not seen to end: changed,
	// or unknown, and then it is made again. Of a resource it is asked only if that
	// reads as wanted, and more than a Read is needed to know that it is well: the
	// error says what is wrong with it. Most need none.
	Recover func(ctx context.Context, h host.Host, want any, begun Begun) (Outcome, error)
	// Batch carries out several items in one call, and returns an error for
	// each (nil: done).
	Batch func(ctx context.Context, h host.Host, items []Item) []error
	// Import reads all that a part can say of the resource that key names: what
	// stands there now as it would be declared, without secrets. Nil: nothing is
	// there. Every module that Define makes and that Reads has it.
	Import func(ctx context.Context, h host.Host, key any) (any, error)
	// List names the resources of the host that somebody has set up, as keys for
	// Import: those at or below the paths, of a type without paths all of them.
	List func(ctx context.Context, h host.Host, paths []string) ([]any, error)
}

// ErrRebooting is wrapped by the error of an Act that has told the machine to
// start anew: the run is to go on after that.
var ErrRebooting = errors.New("the machine is starting anew")

// Item is one resource of a batch: have becomes want, or is removed when want
// is nil.
type Item struct{ Have, Want any }

// IsAct reports whether the module acts, rather than keeping a resource.
func (m *Module) IsAct() bool { return m.Act != nil }

// Schema is what a module says about itself: enough for front-ends,
// documentation and JSON Schema.
type Schema struct {
	Name       string      `json:"name"`
	Doc        string      `json:"doc"`     // whole sentences
	Example    string      `json:"example"` // HCL
	Attributes []Attribute `json:"attributes"`
	// NoAbsent is the reason why a part of this type cannot be absent; empty:
	// it can.
	NoAbsent string `json:"no_absent,omitempty"`
	// Handler marks a type whose top-level parts are lazy.
	Handler bool `json:"handler,omitempty"`
	// HandlerType is the type that is notified in the place of this one: that of a
	// service is restart. Empty: none.
	HandlerType string `json:"handler_type,omitempty"`
	// Locks are held during every act of the module; "%s" in a name stands for
	// the part's key, so that modules may share a lock for each thing. A path is the
	// lock of what stands there, which parts that name it in an attribute hold anyway.
	Locks []string `json:"locks,omitempty"`
	// Root marks a type whose acts only root may do.
	Root bool `json:"root,omitempty"`
	// Reboots marks a type whose act ends this process by starting the machine
	// anew: what makes the run go on after that is put in place before.
	Reboots bool `json:"reboots,omitempty"`
	// Retry is what a part without the option gets; nil: one attempt after a
	// clean failure, three after an unknown outcome.
	Retry *Retry `json:"retry,omitempty"`
	// Type is the Go type's name, for documentation and errors.
	Type string `json:"-"`
}

// Type describes a module as functions over one Go struct; see Define. Fields
// of T with a tag `state:"NAME,FLAG…"` are its attributes:
//
//	key       names the resource; several keys make one together. The first
//	          one defaults to the part's label
//	required  must be given (keys are by themselves)
//	optional  of a key after the first: may be left out
//	present   must be given unless the part is absent
//	in        how to do it: never compared, not observed
//	out       observed only; cannot be set
//	widens    extends the part to what it has not made: see Attribute
//	kept      is remembered, so that what is not declared any more can be removed
//	path      a path on the host that the part touches (value or list)
//	within    a directory on the host that the part works in
//	below     a path on the host that the part makes below directories of others
//	device    the name of a network device that the part sets up
//	on_device the name of a network device that the part needs
//	user      the name of a user that the part sets up; group: of a group
//	public    it stands on the host in a file that every account can read
//	of_user   the name of a user that has to be there for it; of_group: of a group
//	package   the name of a package that the part sets up
//	setting   the name of a parameter of the kernel that it sets
//	service   the name of a service
//	of_directory  the mode of a directory
//	set       a list without order or repeats
//	sensitive never shown
//
// with the tags `doc:"…"` and `enum:"a,b"`. The field's Go type gives the kind:
// string, *string, *bool, *int, *float64, *fs.FileMode, *time.Duration,
// []string, map[string]string, *host.Content, *Source; json.RawMessage is any
// value. A nil field is not managed; keys may be plain strings.
type Type[T any] struct {
	Name    string
	Doc     string
	Example string
	// New holds the values of attributes that a new resource gets when they
	// are not given.
	New T

	Read   func(ctx context.Context, h host.Host, want T) (*T, error)
	Write  func(ctx context.Context, h host.Host, have *T, want T) error
	Remove func(ctx context.Context, h host.Host, have T) error
	Act    func(ctx context.Context, h host.Host, want T) (changed bool, out T, err error)

	Validate func(want T) error
	// Claims is Module.Claims.
	Claims func(values map[string]any, absent bool) []Claim
	// Needs is Module.Needs.
	Needs    func(values map[string]any) []string
	Complete func(ctx context.Context, h host.Host, want *T) error
	// Diff replaces the comparison attribute by attribute.
	Diff func(have *T, want T) []Change
	// Extra adds to that comparison what no attribute holds, such as what is
	// below a directory. It is not asked where nothing is there.
	Extra func(have, want T) []Change
	// Changes is Module.Changes.
	Changes func(out T) []Change
	Foresee func(ctx context.Context, h host.Host, have, want *T) error
	// Effects is Module.Effects.
	Effects func(want T, absent bool) Effects
	Recover func(ctx context.Context, h host.Host, want T, begun Begun) (Outcome, error)
	Batch   func(ctx context.Context, h host.Host, items []ItemOf[T]) []error
	// Makes is Module.Makes.
	Makes func(ctx context.Context, h host.Host, have *T, want T) ([]TreeChange, error)
	// Import replaces what Define makes of Read: a Read of a wanted resource that
	// gives each attribute its zero value, and so manages all of them.
	Import func(ctx context.Context, h host.Host, key T) (*T, error)
	List   func(ctx context.Context, h host.Host, paths []string) ([]T, error)

	NoAbsent string // required without Remove
	Handler  bool
	Locks    []string
	Root     bool
	Reboots  bool
	Retry    *Retry

	HandlerType string
}

// ItemOf is an Item of one Go type: have becomes want, or is removed when want
// is nil.
type ItemOf[T any] struct{ Have, Want *T }

// AttributeError is a mistake in the value of one attribute.
type AttributeError struct {
	Attribute string
	diag.HintError

	// Open says that Message and Hint hold nothing of the value, so that they are
	// shown where it is sensitive, too.
	Open bool
}

// InvalidAttribute makes an AttributeError; hint may be empty.
func InvalidAttribute(attribute, message, hint string) *AttributeError {
	return &AttributeError{Attribute: attribute, HintError: diag.HintError{Message: message, Hint: hint}}
}

// Error gives the attribute and what is wrong with it.
func (e *AttributeError) Error() string { return e.Attribute + ": " + e.Message }

// Unwrap gives what is wrong with it, and the hint.
func (e *AttributeError) Unwrap() error { return &e.HintError }

// ErrUnknown is wrapped by an Act's error when it was begun and nobody knows
// how it ended, as when the connection is lost to what was asked to do it.
var ErrUnknown = errors.New("nobody knows how it ended")
