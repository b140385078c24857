package programs

import (
	"os"
	"time"
)

// Own is the program of this process.
type Own struct {
	Version    string
	Executable string // its path
}

// is tells whether this process is a program of the folder.
func (f *Folder) is(own Own, p *Program) bool {
	if p == nil {
		return false
	}
	mine, err := os.Stat(own.Executable)
	if err != nil {
		return false
	}
	its, err := os.Lstat(f.Dir + "/" + p.name())
	return err == nil && os.SameFile(mine, its)
}

// Switch has a program that Keep has taken run from the next start on. The one of this process stays as the former one.
func (f *Folder) Switch(own Own, p Program, by Release) error {
	r, err := f.Read()
	if err != nil {
		r = &Record{} // the installed program runs then
	}
	former := r.Current
	if !f.is(own, r.Current) {
		former = nil
	}
	return f.write(&Record{Current: &p, Former: former, Release: by})
}

// Prove notes that the program of this process is of use: the server has answered it. What is not needed any more is removed.
func (f *Folder) Prove(own Own) error {
	proven := false
	err := f.change(func(r *Record) bool {
		proven = f.is(own, r.Current) && !r.Proven
		if proven {
			r.Proven, r.Starts, r.Failure = true, 0, nil
		}
		return proven
	})
	if err != nil || !proven {
		return err
	}
	return f.Sweep()
}

// End notes that the program of this process has ended as it should: it was told to.
func (f *Folder) End(own Own) error {
	return f.change(func(r *Record) bool {
		counts := f.is(own, r.Current) && !r.Proven && r.Starts > 0
		if counts {
			r.Starts--
		}
		return counts
	})
}

// Fail notes that the host could not be brought to a release, and goes on as it is.
func (f *Folder) Fail(by Release, reason string) error {
	r, err := f.Read()
	if err != nil {
		r = &Record{}
	}
	f.fail(r, by, reason)
	return f.write(r)
}

func (f *Folder) fail(r *Record, by Release, reason string) {
	count := 1
	if r.Failure != nil && r.Failure.Digest == by.Digest {
		count += r.Failure.Count
	}
	r.Failure = &Failure{Release: by, Reason: reason, At: f.now(), Count: count}
}

// How long it takes until a release is tried again that has failed, and nothing has changed.
const (
	firstRetry = 6 * time.Hour
	lastRetry  = 7 * 24 * time.Hour
)

// Retry is when a release may be tried again that has failed; zero: it has not, or somebody wants it anew.
func (r *Record) Retry(by Release) time.Time {
	if r.Failure == nil || r.Failure.Digest != by.Digest || by.Number > r.Failure.Number {
		return time.Time{}
	}
	return r.Failure.At.Add(min(firstRetry<<min(r.Failure.Count-1, 10), lastRetry))
}
