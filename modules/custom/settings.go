package custom

import (
	"time"

	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/states"
)

// takeSettings takes root, handler, locks and retry.
func (d *declaration) takeSettings() {
	s := d.module.schema
	s.Root, s.Handler = d.flag("root"), d.flag("handler")
	if v := d.lib.globals["locks"]; v != nil {
		list, ok := v.(*starlark.List)
		if ok {
			var err error
			s.Locks, err = texts("locks", list)
			ok = err == nil
		}
		if !ok {
			d.fail(d.globalRange("locks"), `write locks = ["NAME"]`, "locks is a list of names")
		}
	}
	if v := d.lib.globals["retry"]; v != nil {
		s.Retry = d.retry(v)
	}
}

// retry takes retry = {"attempts": 3, "delay": "2s", "backoff": 2, "max_delay": "1m"}.
func (d *declaration) retry(v starlark.Value) *states.Retry {
	at, r := d.globalRange("retry"), &states.Retry{}
	dict, ok := v.(*starlark.Dict)
	if !ok {
		d.fail(at, `write retry = {"attempts": 3, "delay": "2s"}`, "retry is a dict, not a value of type %s", v.Type())
		return nil
	}
	for _, item := range dict.Items() {
		name, _ := starlark.AsString(item[0])
		switch name {
		case "attempts":
			n, err := starlark.AsInt32(item[1])
			if err != nil || n < 1 {
				d.fail(at, "", "attempts is a whole number, at least 1")
			}
			r.Attempts = n
		case "backoff":
			f, ok := starlark.AsFloat(item[1])
			if !ok || f < 1 || f > 1000 {
				d.fail(at, "", "backoff is a number, at least 1")
			}
			r.Backoff = f
		case "delay":
			r.Delay = d.duration(name, item[1])
		case "max_delay":
			r.MaxDelay = d.duration(name, item[1])
		default:
			d.fail(at, didYouMean(name, []string{"attempts", "backoff", "delay", "max_delay"}), "retry knows no %s", item[0])
		}
	}
	if r.Attempts == 0 && !d.hasErrors {
		d.fail(at, `write retry = {"attempts": 3}`, "retry needs the number of attempts")
	}
	return r
}

func (d *declaration) duration(name string, v starlark.Value) time.Duration {
	limit, err := duration(v)
	if err != nil {
		d.fail(d.globalRange("retry"), "", `%s is a duration such as "2s"`, name)
	}
	return limit
}
