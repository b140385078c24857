// Package waitfor is the module "wait_for": a run goes on when something has
// come about, or a time is over.
package waitfor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/modules/internal/web"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// WaitFor is one thing to wait for: a port, a machine, a path or an answer.
type WaitFor struct {
	Port    *int              `state:"port" doc:"Until somebody listens at this TCP port."`
	Host    *string           `state:"host" doc:"With port: the name or address of the machine, 127.0.0.1 by default."`
	Ping    *string           `state:"ping" doc:"Until the machine with this IP address answers an echo request (ICMP). Only root can send one."`
	Path    *string           `state:"path,path" doc:"Until something is at this path of the host; with matches, until the file there holds it."`
	URL     *string           `state:"url" doc:"Until a GET of this URL is answered as expected."`
	Expect  []string          `state:"expect" doc:"With url: statuses that are right, \"204\", or \"2xx\" for all that begin so. By default 2xx."`
	Headers map[string]string `state:"headers" doc:"With url: fields of the request's header."`
	CA      *string           `state:"ca,path" doc:"With url: file on the host with the certificates (PEM) that are trusted in place of the host's own."`
	Matches *string           `state:"matches" doc:"Regular expression (RE2) that the file at path, or the body of the answer, must match; of more than 1 MiB, the first."`
	Gone    *bool             `state:"gone" doc:"Until it is not so any more: nobody listens, nothing is at the path or it does not match, the answer is not as expected."`
	Within  *time.Duration    `state:"within" doc:"How long it may take, such as \"90s\"; 5 minutes by default. After that it has failed."`
	Every   *time.Duration    `state:"every" doc:"The time between two looks; 1 s by default."`
}

const doc = `Waits until a port is open, a machine answers, a path is there or a URL answers, and fails where that takes too long.

It changes nothing. Where it is so already, there is nothing to do, and nothing to wait for; a plan says so. Otherwise a plan says what it waits for: whether that comes about nobody knows before.

Exactly one of port, ping, path and url is given. What requires the part, and what comes after it in its state, begins when the wait is over. The message of a failure says what was there at the last look.`

const example = `wait_for "nginx" {
  port   = 80
  within = "30s"
}

wait_for "gateway" {
  ping = "192.0.2.1"
}

wait_for "application" {
  url     = "http://127.0.0.1/health"
  expect  = ["200"]
  matches = "ready"
  every   = "500ms"
}`

// Module is the module "wait_for".
var Module = states.Define(states.Type[WaitFor]{
	Name: "wait_for", Doc: doc, Example: example,
	NoAbsent: "A wait leaves nothing behind; to wait until something is not there any more, write gone = true.",
	Validate: validate, Act: act, Effects: effects,
})

// effects: it only waits.
func effects(_ WaitFor, _ bool) states.Effects {
	return states.Effects{}
}

const (
	defaultTimeout  = 5 * time.Minute
	defaultInterval = time.Second
	// patience is how long one look may take.
	patience = 10 * time.Second
)

func validate(want WaitFor) error {
	mistake := func(attribute, message string) error {
		return states.InvalidAttribute(attribute, message, "")
	}
	given := 0
	for _, one := range []bool{want.Port != nil, want.Ping != nil, want.Path != nil, want.URL != nil} {
		if one {
			given++
		}
	}
	if given != 1 {
		return states.InvalidAttribute("port", "exactly one of port, ping, path and url is required", "write one, such as port = 5432, and wait for others in parts of their own")
	}
	switch {
	case want.Port != nil && (*want.Port < 1 || *want.Port > 65535):
		return mistake("port", fmt.Sprintf("%d is no port: they go from 1 to 65535", *want.Port))
	case want.Host != nil && want.Port == nil:
		return mistake("host", "it has a meaning only beside port")
	case want.Expect != nil && want.URL == nil:
		return mistake("expect", "it has a meaning only beside url")
	case want.Headers != nil && want.URL == nil:
		return mistake("headers", "it has a meaning only beside url")
	case want.CA != nil && want.URL == nil:
		return mistake("ca", "it has a meaning only beside url")
	case want.Matches != nil && (want.Port != nil || want.Ping != nil):
		return mistake("matches", "it has no meaning beside port and ping")
	case want.Every != nil && *want.Every < time.Millisecond:
		return mistake("every", "there must be some time between two looks")
	}
	return errors.Join(
		checkHost(want.Host),
		checkAddress(want.Ping),
		check.OptionalPath("path", want.Path),
		web.OptionalURL("url", want.URL),
		web.Statuses("expect", want.Expect),
		check.Pattern("matches", want.Matches),
		web.Headers("headers", want.Headers),
		check.OptionalPath("ca", want.CA),
	)
}

// checkHost accepts names and addresses, those of IPv6 with a zone too.
func checkHost(name *string) error {
	if name == nil {
		return nil
	}
	return check.Name("host", *name, ".-_:%")
}

// checkAddress accepts an address of a single machine, as it is written in its shortest form.
func checkAddress(text *string) error {
	if text == nil {
		return nil
	}
	a, err := netip.ParseAddr(*text)
	if err != nil || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() || a.Is4In6() || a.String() != *text {
		return states.InvalidAttribute("ping", fmt.Sprintf("%q is no IP address of a machine, in its shortest form", *text), "")
	}
	return nil
}

// target says what is waited for.
func (want WaitFor) target() string {
	not := ""
	if want.wantsAbsence() {
		not = " no more"
	}
	switch {
	case want.Port != nil:
		return "somebody listens at " + want.address() + not
	case want.Ping != nil:
		return *want.Ping + " answers an echo request" + not
	case want.URL != nil:
		return web.Shown(*want.URL) + " answers as expected" + not
	case want.Matches != nil:
		return fmt.Sprintf("%s matches %q%s", *want.Path, *want.Matches, not)
	case want.wantsAbsence():
		return *want.Path + " is gone"
	}
	return *want.Path + " is there"
}

func (want WaitFor) wantsAbsence() bool { return want.Gone != nil && *want.Gone }

func (want WaitFor) address() string {
	name := "127.0.0.1"
	if want.Host != nil {
		name = *want.Host
	}
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	return name + ":" + strconv.Itoa(*want.Port)
}

func act(ctx context.Context, h host.Host, want WaitFor) (bool, WaitFor, error) {
	limit, pause := defaultTimeout, defaultInterval
	if want.Within != nil {
		limit = *want.Within
	}
	if want.Every != nil {
		pause = *want.Every
	}
	begun, said := host.Now(h), false
	for {
		why, err := look(ctx, h, want)
		if err != nil {
			return false, want, err
		}
		if (why == nil) != want.wantsAbsence() {
			return false, want, nil
		}
		left := limit - host.Now(h).Sub(begun)
		if left <= 0 {
			return false, want, want.timeoutError(limit, why)
		}
		err = host.Sleep(ctx, h, min(pause, left))
		if errors.Is(err, host.ErrUnforeseeable) {
			err = &states.UncertainError{Reason: "it waits until " + want.target()}
		}
		if err != nil {
			return false, want, err
		}
		if !said { // not on a shadow, where nothing is awaited
			said = true
			states.Say(ctx, want.progressText(why))
		}
	}
}

// progressText says what is waited for, and why it is not so.
func (want WaitFor) progressText(why error) string {
	if why == nil {
		return "waiting until " + want.target()
	}
	return fmt.Sprintf("waiting until %s: %v", want.target(), why)
}

func (want WaitFor) timeoutError(limit time.Duration, why error) error {
	if why == nil {
		return fmt.Errorf("it waited %s until %s, and it is as before", limit, want.target())
	}
	return fmt.Errorf("it waited %s until %s: %w", limit, want.target(), why)
}

// look looks once: why it is not so yet, or the error that ends the wait.
func look(ctx context.Context, h host.Host, want WaitFor) (why, err error) {
	if want.Path != nil {
		return lookPath(h, *want.Path, want.Matches)
	}
	n, err := host.NetworkOf(h)
	if err != nil {
		return nil, err
	}
	brief, done := context.WithTimeoutCause(ctx, patience, errNoAnswer)
	defer done()
	if want.URL == nil {
		network, address := host.Echo, ""
		if want.Port != nil {
			network, address = "tcp", want.address()
		} else {
			address = *want.Ping
		}
		c, err := n.Dial(brief, network, address)
		if err == nil {
			return nil, c.Close()
		}
		return notYet(ctx, err)
	}
	ca, err := web.CA(h, want.CA)
	if err != nil {
		return nil, err
	}
	answer, err := web.Get(brief, h, host.Request{URL: *want.URL, Header: want.Headers, Reads: true, CA: ca})
	if err != nil {
		return notYet(ctx, err)
	}
	if err := web.Expected(want.Expect, answer.Status); err != nil {
		return fmt.Errorf("it answers %w", err), nil
	}
	return matches(answer.Text, want.Matches), nil
}

var errNoAnswer = errors.New("it did not answer within " + patience.String())

// notYet tells what may pass from what ends the wait.
func notYet(ctx context.Context, err error) (why, end error) {
	if ctx.Err() != nil || errors.Is(err, host.ErrUnforeseeable) || errors.Is(err, host.ErrUnsupported) {
		return nil, err
	}
	return err, nil
}
