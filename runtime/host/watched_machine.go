package host

import (
	"context"
	"syscall"

	"github.com/tenetcm/tenet/runtime/host/links"
)

// Init is Machine.Init; the watcher is told before a service is touched.
func (w *watched) Init(ctx context.Context, user string) (Init, error) {
	i, err := InitOf(ctx, w.Host, user)
	return watchedInit{i, w.watcher}, err
}

// Links is Machine.Links; the watcher is told before a device is touched.
func (w *watched) Links(ctx context.Context) (links.Devices, error) {
	l, err := LinksOf(ctx, w.Host)
	return watchedLinks{l, w.watcher}, err
}

// Tune is Machine.Tune.
func (w *watched) Tune(path, value string) error {
	return w.change("write", path, syscall.EISDIR, func(Place) error { return w.Host.Tune(path, value) })
}

type watchedInit struct {
	Init
	watcher Watcher
}

func (w watchedInit) Do(ctx context.Context, verb Verb, name string) error {
	w.watcher.Run()
	return w.Init.Do(ctx, verb, name)
}

func (w watchedInit) Refresh(ctx context.Context) error {
	w.watcher.Run()
	return w.Init.Refresh(ctx)
}

type watchedLinks struct {
	links.Devices
	watcher Watcher
}

func (w watchedLinks) Add(ctx context.Context, l links.Link) error {
	w.watcher.Run()
	return w.Devices.Add(ctx, l)
}

func (w watchedLinks) Change(ctx context.Context, have, want links.Link) error {
	w.watcher.Run()
	return w.Devices.Change(ctx, have, want)
}

func (w watchedLinks) Delete(ctx context.Context, name string) error {
	w.watcher.Run()
	return w.Devices.Delete(ctx, name)
}
