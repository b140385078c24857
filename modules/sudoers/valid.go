package sudoers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/modules/internal/lines"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
)

// whole is what sudo will read, as one text for visudo's standard input.
type whole struct {
	text  strings.Builder
	lines int
	// The lines that are of the new file, from the one after from.
	from, to int
	// includes says that /etc/sudoers reads the directory.
	includes bool
}

func (w *whole) add(text string) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	w.text.WriteString(text)
	w.lines += strings.Count(text, "\n")
}

// valid lets visudo check all that sudo will read with the text in the place of the
// file; nil: without that file. Nothing is written for it.
func valid(ctx context.Context, h host.Host, name string, text *string) error {
	w, err := compose(h, name, text)
	if err != nil {
		return err
	}
	if text != nil && !w.includes {
		return fmt.Errorf("%s does not include %s, so that the file would not count: add the line @includedir %s", main, dir, dir)
	}
	_, err = process.Query(ctx, h, host.Query{
		Command: host.Command{
			Argv: []string{"visudo", "--check", "--file=-"}, Stdin: []byte(w.text.String()), Env: []string{"LC_ALL=C.UTF-8"},
		},
		Reads: []string{main, dir},
	})
	exit, refused := errors.AsType[*process.ExitError](err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("this host has no visudo, which the package sudo brings: %w", err)
	case refused:
		exit.Result.Stderr = []byte(w.places(string(exit.Result.Stderr), dir+"/"+name))
		return fmt.Errorf("sudo would refuse its rules: %w", exit)
	}
	return err
}

// compose puts the files together, in sudo's order.
func compose(h host.Reader, name string, text *string) (*whole, error) {
	t, err := lines.Load(h, main)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("this host has no sudo, which the package of that name brings: %w", err)
	}
	if err != nil {
		return nil, err
	}
	names, err := includedFiles(h)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	w := &whole{}
	for _, r := range t {
		words := strings.Fields(r.Line)
		if len(words) != 2 || words[0] != "@includedir" && words[0] != "#includedir" || strings.TrimSuffix(words[1], "/") != dir {
			w.add(r.Line + "\n")
			continue
		}
		w.includes = true
		put := text == nil
		for _, other := range names {
			if !put && other >= name {
				w.put(*text)
				put = true
			}
			if other != name {
				w.add("@include " + dir + "/" + strings.ReplaceAll(other, " ", `\ `))
			}
		}
		if !put {
			w.put(*text)
		}
	}
	return w, nil
}

func (w *whole) put(text string) {
	w.from = w.lines
	w.add(text)
	w.to = w.lines
}

var place = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^stdin:(\d+):`) })

// places names the files in the place of lines on standard input, as far as that can
// be told.
func (w *whole) places(said, file string) string {
	return place().ReplaceAllStringFunc(said, func(at string) string {
		n, err := strconv.Atoi(place().FindStringSubmatch(at)[1])
		switch {
		case err == nil && n > w.from && n <= w.to:
			return fmt.Sprintf("%s:%d:", file, n-w.from)
		case err == nil && (n <= w.from || w.to == 0):
			return fmt.Sprintf("%s:%d:", main, n)
		}
		return main + ":"
	})
}
