package programs

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
)

// Launch makes this process the program that is to run, with these arguments and this environment: then it does not return. It returns where this
// program itself is the one to run. What people may want to know of it goes to log.
func (f *Folder) Launch(own Own, argv, environ []string, log func(string)) {
	for {
		path, version, err := f.choose(own)
		if err != nil {
			log(err.Error())
		}
		if path == "" {
			return
		}
		log("this is " + own.Version + ", and " + version + " runs from now on")
		f.step("start " + version)
		err = execute(path, argv, environ)
		// What cannot be written down now is found anew at the next start.
		if err := f.revert(fmt.Sprintf("it cannot be started: %v", err)); err != nil {
			log(err.Error())
			return
		}
	}
}

// execute becomes another program. While another thread of this process is about to start a program, a file that was just written counts as being
// written still.
func execute(path string, argv, environ []string) error {
	for try := 0; ; try++ {
		err := syscall.Exec(path, argv, environ)
		if !errors.Is(err, syscall.ETXTBSY) || try == 20 {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// choose says which program is to run; empty: this one. It counts its start. What is wrong with others it tells.
func (f *Folder) choose(own Own) (path, version string, told error) {
	for {
		r, err := f.Read()
		if err != nil {
			return "", "", errors.Join(told, fmt.Errorf("%w; the program that was installed runs", err))
		}
		current := r.Current
		switch {
		case current == nil || f.is(own, current):
			return "", "", told
		case f.isReplaced(own, r):
			// Somebody has installed another one since, which is theirs to say.
			return "", "", errors.Join(told, f.write(&Record{Failure: r.Failure}))
		case !r.Proven && r.Starts >= maxStarts:
			err = fmt.Errorf("it was started %d times, and ended before the server had answered it", r.Starts)
		default:
			path, err = f.Find(current)
		}
		if err == nil {
			if !r.Proven {
				r.Starts++
				if err := f.write(r); err != nil {
					return "", "", errors.Join(told, fmt.Errorf("the start of %s cannot be noted, so %s runs: %w", current.Version, own.Version, err))
				}
			}
			return path, current.Version, told
		}
		told = errors.Join(told, fmt.Errorf("update to %s: %w; the former program runs again", current.Version, err))
		if err := f.revert(err.Error()); err != nil {
			return "", "", errors.Join(told, err)
		}
	}
}

// isReplaced tells whether this program was installed by hand after the current one had come: it is a later one, or has no place among releases.
func (f *Folder) isReplaced(own Own, r *Record) bool {
	if f.is(own, r.Former) {
		return false
	}
	return !trust.HasOrder(own.Version) || trust.CompareVersions(own.Version, r.Current.Version) > 0
}

// revert has the former program run again.
func (f *Folder) revert(reason string) error {
	return f.change(func(r *Record) bool {
		if r.Current == nil {
			return false
		}
		f.fail(r, r.Release, reason)
		r.Current, r.Former, r.Release, r.Proven, r.Starts = r.Former, nil, Release{}, true, 0
		return true
	})
}
