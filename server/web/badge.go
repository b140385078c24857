package web

import (
	"fmt"
	"html/template"
)

// kind is what a state means for a person: its colour, and the symbol without which colour would be the only sign.
type kind struct{ class, symbol string }

// kindOf knows the words of states of all pages. One that it does not know is shown without a colour.
func kindOf(word string) kind {
	switch word {
	case "ready", "active", "adopted", "connected", "done", "healthy", "installed", "present", "ok", "member", "deployed", "verified", "succeeded", "none", "mended", "unchanged", "changed":
		return kind{"good", "✓"}
	case "failed", "not-ready", "lost", "help", "revoked", "error", "refused", "wrong", "unhealthy", "broken":
		return kind{"bad", "✗"}
	case "pending", "silent", "paused", "blocked", "retrying", "locked", "planned", "out", "approved", "reverting", "pinned", "drifted", "degraded", "standby", "away":
		return kind{"warn", "!"}
	case "rolling", "applying", "discovering", "validating", "removing", "begun", "running", "installing", "held", "creating", "joining", "leaving", "deploying", "undeploying", "claimed":
		return kind{"busy", "▸"}
	case "maybe":
		return kind{"warn", "?"}
	}
	return kind{"quiet", "·"}
}

// badge shows a state: a symbol, the word, a colour.
func badge(state any) template.HTML {
	word := fmt.Sprint(state)
	if word == "" {
		return ""
	}
	k := kindOf(word)
	return template.HTML(`<span class="badge ` + k.class + `"><i aria-hidden="true">` + k.symbol + `</i>` + template.HTMLEscapeString(word) + `</span>`)
}
