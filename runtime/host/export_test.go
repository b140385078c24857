package host

// Componentwise makes a Local below a root resolve paths by itself, as it does
// where the kernel has no openat2.
func (l *Local) Componentwise() { l.componentwise = true }

// Scripts is an init system of scripts.
func Scripts(system string, h Host) Init { return newScripts(system, h) }
