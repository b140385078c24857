package git

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// slop is by how much clocks of those who commit may differ: a history whose beginning is older than that before a commit does not hold it.
	slop = 24 * time.Hour
	// minHistory is how many commits are looked at whatever their times are: those of a single clock may be wrong by years.
	minHistory = 256
)

// IsDescendant reports whether a commit that was fetched comes after another one, or is it. As much of the history is fetched as it takes
// to tell. What cannot be told, since the history is too long or the repository cannot be asked, is an error.
func (r *Repository) IsDescendant(ctx context.Context, v Revision, of string) (bool, error) {
	if v.Commit == of {
		return true, nil
	}
	if len(v.Commit) != len(of) { // by another hash: the repository was made anew
		return false, nil
	}
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	release, err := r.hold(ctx, v.Commit)
	if err != nil {
		return false, err
	}
	defer release()
	if there, err := r.hasCommit(ctx, v.Commit); !there || !IsCommit(of) {
		return false, errors.Join(err, r.refuse(CodeNotFound, "fetch it first", "commit %s or %s is not in the cache", v.Commit, of))
	}
	for depth := 1; ; depth *= 16 {
		if depth > 1 { // what is at hand may be enough
			if err := r.fetch(ctx, v.object(), min(depth, r.limits.History)); err != nil {
				return false, err
			}
		}
		is, known, err := r.compare(ctx, v.Commit, of, depth)
		if known || err != nil {
			return is, err
		}
		if depth >= r.limits.History {
			return false, r.refuse("history", "follow it anew, if it is right that its history is another one", "the last %d commits do not tell whether %.12s comes after %.12s", r.limits.History, v.Commit, of)
		}
	}
}

// compare looks for a commit in the part of the history that is here, which was fetched to a depth. It is not known if that may go on.
func (r *Repository) compare(ctx context.Context, commit, of string, depth int) (is, known bool, err error) {
	if there, err := r.hasCommit(ctx, of); err != nil {
		return false, false, err
	} else if there {
		_, err := r.run(ctx, command{args: []string{"merge-base", "--is-ancestor", of, commit}, bare: true})
		if err == nil {
			return true, true, nil
		}
		if exitCode(err) != 1 {
			return false, false, err
		}
	}
	var since time.Time
	if depth >= minHistory {
		if since, err = r.timeOf(ctx, of); err != nil {
			return false, false, err
		}
	}
	more, err := r.goesOn(ctx, commit, since)
	return false, !more, err
}

// timeOf is when a commit was made, as it says itself; zero: it is not here.
func (r *Repository) timeOf(ctx context.Context, commit string) (time.Time, error) {
	if there, err := r.hasCommit(ctx, commit); !there {
		return time.Time{}, err
	}
	out, err := r.run(ctx, command{args: []string{"log", "-1", "--no-show-signature", "--format=%ct", "--end-of-options", commit}, bare: true})
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return time.Unix(seconds, 0), err
}

// goesOn reports whether the history of a commit is cut off after a time: what is before that cannot have its commit.
func (r *Repository) goesOn(ctx context.Context, commit string, since time.Time) (bool, error) {
	// Commits at which the history is cut off are those of the file shallow. They are listed as such, by a parent that is not shown.
	cut, err := r.shallow()
	if err != nil || len(cut) == 0 {
		return false, err
	}
	out, err := r.run(ctx, command{args: []string{"rev-list", "--timestamp", "--end-of-options", commit}, bare: true, most: int64(r.limits.History+1) * 200})
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) != 2 || !cut[words[1]] {
			continue
		}
		seconds, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			return false, fmt.Errorf("git lists %q: %w", line, err)
		}
		if since.IsZero() || time.Unix(seconds, 0).After(since.Add(-slop)) {
			return true, nil
		}
	}
	return false, nil
}

// Changed lists the files that differ between two commits that were fetched, by their names. More than names of 8 MiB are an error with CodeTooLarge.
func (r *Repository) Changed(ctx context.Context, old, new string) ([]string, error) {
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	release, err := r.hold(ctx, new)
	if err != nil {
		return nil, err
	}
	defer release()
	for _, commit := range []string{old, new} {
		if there, err := r.hasCommit(ctx, commit); !there {
			return nil, errors.Join(err, r.refuse(CodeNotFound, "fetch it first", "commit %.64s is not in the cache", commit))
		}
	}
	out, err := r.run(ctx, command{args: []string{"diff-tree", "-r", "-z", "--no-renames", "--name-only", "--no-ext-diff", "--no-textconv", "--end-of-options", old, new}, bare: true, most: 8 << 20})
	if errors.Is(err, errOutput) {
		return nil, r.refuse(CodeTooLarge, "", "too much differs between %.12s and %.12s", old, new)
	}
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}
