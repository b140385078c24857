package ui

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/runtime/fleet"
)

// HookLine is a hook of a rollout that begins or has ended, for programs.
type HookLine struct {
	Type string `json:"type"` // "hook"
	fleet.RecordHook
	Failures []string `json:"failures,omitempty"`
}

// NewHookLine makes one.
func NewHookLine(h fleet.RecordHook, failures []string) HookLine {
	return HookLine{"hook", h, failures}
}

// HookWhat tells what a hook brings about, and where.
func HookWhat(h fleet.RecordHook) string {
	text := h.State
	if len(h.Params) > 0 {
		var params []string
		for _, name := range slices.Sorted(maps.Keys(h.Params)) {
			value, err := plainjson.Marshal(h.Params[name])
			if err != nil {
				value = []byte("?")
			}
			params = append(params, name+" = "+strings.TrimSpace(string(value)))
		}
		text += " (" + strings.Join(params, ", ") + ")"
	}
	if len(h.Hosts) == 0 {
		return text + ": nowhere, since its hosts are those of the batch"
	}
	return text + " on " + strings.Join(h.Hosts, ", ")
}

// HookText tells of a hook for people, in lines; none where there is nothing to tell.
func HookText(h fleet.RecordHook, failures []string) []string {
	name := fmt.Sprintf("%s: %s", h.Kind, HookWhat(h))
	switch {
	case h.Status == fleet.HookRunning && len(failures) == 0:
		return []string{name}
	case h.Status == fleet.HookRunning:
		name += ": nobody knows how it ended"
	case h.Status == fleet.HookFailed:
		name += ": failed"
	case h.Status == fleet.HookDue:
		name += ": not begun"
	default:
		return nil
	}
	return append([]string{name}, failures...)
}

// Hook takes what happens to a hook of the rollout.
func (f *Fleet) Hook(h fleet.RecordHook, failures []string) {
	if j, ok := f.form.(*fleetJSON); ok {
		f.withLock(func() { j.line(NewHookLine(h, failures)) })
		return
	}
	f.withLock(func() {
		for _, line := range HookText(h, failures) {
			f.form.note("", line)
		}
	})
}
