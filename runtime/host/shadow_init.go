package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"
)

// Init is Machine.Init: the base's, with what was done here laid over it. Unit files
// that were written here count, and what is enabled or masked is written here.
//
// What a service does as it starts, ends or reloads cannot be foreseen; that it
// runs then, or does not, is known.
func (s *Shadow) Init(ctx context.Context, user string) (Init, error) {
	if s.untraced != nil {
		i, err := s.untraced.Init(ctx, user)
		if user != "" {
			_, missing := s.untraced.User(user)
			s.trace.lookAt(LookUser, user, missing)
		}
		if err != nil {
			s.trace.lookAt(LookService, "*", err)
			return nil, err
		}
		return tracedInit{Init: i, user: user, trace: s.trace}, nil
	}
	base, err := InitOf(ctx, s.host, user)
	if err != nil {
		if _, here := s.User(user); user != "" && here == nil && s.changed(passwdFile) {
			return nil, fmt.Errorf("%w: the services of an account that earlier steps change", ErrUnforeseeable)
		}
		return nil, err
	}
	s.services.Lock()
	defer s.services.Unlock()
	if i := s.services.of[user]; i != nil {
		return i, nil
	}
	i := &shadowInit{shadow: s, base: base, active: map[string]bool{}}
	if base.System() == "systemd" {
		files, err := UnitFiles(s, user)
		if err != nil {
			return nil, err
		}
		i.files = files.(*unitFiles)
	}
	if s.services.of == nil {
		s.services.of = map[string]*shadowInit{}
	}
	s.services.of[user] = i
	return i, nil
}

// tracedInit is the Init of a Shadow for somebody who acts in a plan.
type tracedInit struct {
	Init
	user      string // whose services these are
	trace     *Trace
	uncertain func(Look) bool // nil: all is certain
}

// look tells of a look at a service, which is named USER/NAME if it is an account's own.
func (i tracedInit) look(name string) error {
	name = path.Join(i.user, name)
	i.trace.lookAt(LookService, name, nil)
	if i.uncertain != nil && i.uncertain(Look{Kind: LookService, Name: name}) {
		return ErrUnanswerable
	}
	return nil
}

// Services is Init.Services.
func (i tracedInit) Services(ctx context.Context) ([]Service, error) {
	if err := i.look("*"); err != nil {
		return nil, err
	}
	return i.Init.Services(ctx)
}

// Service is Init.Service.
func (i tracedInit) Service(ctx context.Context, name string) (Service, error) {
	if err := i.look(name); err != nil {
		return Service{}, err
	}
	s, err := i.Init.Service(ctx, name)
	i.trace.lookAt(LookService, path.Join(i.user, name), err)
	return s, err
}

// Do is Init.Do.
func (i tracedInit) Do(ctx context.Context, verb Verb, name string) error {
	i.trace.act()
	if err := i.look(name); err != nil {
		return err
	}
	return i.Init.Do(ctx, verb, name)
}

// shadowServices is what a Shadow knows of services.
type shadowServices struct {
	sync.Mutex
	of map[string]*shadowInit // by the account
}

// hasActed reports whether a service was started or stopped here, so that what programs
// say of the base is not what they would say then.
func (s *shadowServices) hasActed() bool {
	s.Lock()
	defer s.Unlock()
	for _, i := range s.of {
		if i.hasActed() {
			return true
		}
	}
	return false
}

// shadowInit is the Init of a Shadow.
type shadowInit struct {
	shadow *Shadow
	base   Init
	files  *unitFiles // nil: an init system whose files are not understood

	mu      sync.Mutex
	active  map[string]bool   // what was started or stopped here
	changed map[string]string // of another init system: how it is enabled
}

// System is Init.System.
func (i *shadowInit) System() string { return i.base.System() }

// Refresh is Init.Refresh: here all files are read anew each time.
func (i *shadowInit) Refresh(context.Context) error { return nil }

// Services is Init.Services.
func (i *shadowInit) Services(ctx context.Context) ([]Service, error) {
	names := map[string]bool{}
	lists := []Init{i.base}
	if i.files != nil && i.files.hasChanges() {
		lists = append(lists, i.files)
	}
	for _, list := range lists {
		services, err := list.Services(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range services {
			names[s.Name] = true
		}
	}
	var out []Service
	for _, name := range slices.Sorted(maps.Keys(names)) {
		s, err := i.Service(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// Service is Init.Service.
func (i *shadowInit) Service(ctx context.Context, name string) (Service, error) {
	s, err := i.base.Service(ctx, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	if i.files != nil {
		s, err = i.overlay(ctx, s, err)
	}
	if err != nil {
		return s, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if active, known := i.active[name]; known {
		s.Result = "success"
		s.Active, s.Sub = "inactive", "dead"
		if active {
			s.Active, s.Sub = "active", "running"
		}
	}
	if how := i.changed[name]; how != "" {
		s.Enablement = how
	}
	return s, nil
}

// overlay puts what the files here say over what the base says.
func (i *shadowInit) overlay(ctx context.Context, s Service, missing error) (Service, error) {
	text, links := i.files.changesOf(s.Name)
	if !text && !links {
		return s, missing
	}
	now, err := i.files.Service(ctx, s.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !text:
		return s, missing // the base knows it from elsewhere, or does not
	case err != nil:
		return s, err
	}
	s.Enablement, s.NeedReload = now.Enablement, false
	if text || now.Load == "masked" || s.Load == "masked" {
		s.Load, s.Type, s.CanReload = now.Load, now.Type, now.CanReload
	}
	if s.Active == "" && missing != nil && i.runs() {
		s.Active, s.Sub, s.Result = "inactive", "dead", "success"
	}
	return s, nil
}

// runs reports whether the base's init system can start something.
func (i *shadowInit) runs() bool { return !isOffline(i.base) }

// isOffline reports whether an init system is known by its files alone.
func isOffline(i Init) bool {
	switch i := i.(type) {
	case *unitFiles:
		return true
	case *scripts:
		return i.stoppedReason != nil
	case *shadowInit:
		return isOffline(i.base)
	case watchedInit:
		return isOffline(i.Init)
	case tracedInit:
		return isOffline(i.Init)
	}
	return false
}

// Do is Init.Do.
func (i *shadowInit) Do(ctx context.Context, verb Verb, name string) error {
	switch verb {
	case Enable, Disable, Mask, Unmask:
		return i.setEnablement(ctx, verb, name)
	}
	if !i.runs() {
		return i.base.Do(ctx, verb, name)
	}
	s, err := i.Service(ctx, name)
	switch {
	case err != nil:
		return err
	case s.Load == "masked" && verb != Stop:
		return &maskedError{name}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if verb != Reload {
		i.active[name] = verb != Stop && (s.Type != "oneshot" || path.Ext(name) != ".service")
	}
	if slices.Contains([]string{".timer", ".path", ".socket", ".automount", ".slice"}, path.Ext(name)) {
		return nil // it starts no program by itself
	}
	return fmt.Errorf("%w: what %s does as it is told to %s", ErrUnforeseeable, name, verb)
}

// setEnablement keeps how a service is enabled now.
func (i *shadowInit) setEnablement(ctx context.Context, verb Verb, name string) error {
	s, err := i.Service(ctx, name)
	if s.Enablement == "generated" && (verb == Enable || verb == Disable) {
		return fmt.Errorf("%w: the script of %s", ErrUnforeseeable, name)
	}
	if i.files != nil {
		return i.files.Do(ctx, verb, name)
	}
	if err != nil {
		return err
	}
	how := map[Verb]string{Enable: "enabled", Disable: "disabled"}[verb]
	if how == "" {
		return cannotMask(i.System())
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.changed == nil {
		i.changed = map[string]string{}
	}
	i.changed[name] = how
	return nil
}

// hasActed reports whether anything was started or stopped here.
func (i *shadowInit) hasActed() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.active) > 0
}

// maskedError says that a service cannot be started.
type maskedError struct{ name string }

// Error names the service and the way out.
func (e *maskedError) Error() string {
	return e.name + " is masked and cannot be started (a service part with masked = false lifts that)"
}

func cannotMask(system string) error {
	return fmt.Errorf("%s cannot mask a service: %w", system, ErrUnsupported)
}

// hasChanges reports whether a Shadow's own unit files may differ from its base's.
func (u *unitFiles) hasChanges() bool {
	s, ok := u.h.(*Shadow)
	return ok && slices.ContainsFunc(u.dirs, s.changed)
}

// changesOf reports whether a Shadow has changed what a unit is, and how it may be
// enabled.
func (u *unitFiles) changesOf(name string) (text, links bool) {
	s, ok := u.h.(*Shadow)
	if !ok {
		return true, true
	}
	names := []string{name, name + ".d"}
	if of := template(name); of != "" {
		names = append(names, of, of+".d")
	}
	for _, dir := range u.dirs {
		for _, n := range names {
			text = text || s.changed(path.Join(dir, n))
		}
	}
	links = s.changed(u.config) || s.changed(u.runtimeConfig) || u.user != nil && s.changed("/etc/systemd/user")
	return text, links
}
