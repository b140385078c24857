package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tenetcm/tenet/server/web/webtest"
)

// watchLive tells how much of a core a server takes with some pages open in a browser, and with none: of a demo, in which
// something happens every few seconds.
func watchLive(ctx context.Context, program, work string, seconds int) error {
	s, err := start(ctx, program, []string{"TMPDIR=" + work}, "--demo", "20")
	if err != nil {
		return err
	}
	defer s.kill()
	const warm = 45 * time.Second
	time.Sleep(warm)
	found, err := filepath.Glob(filepath.Join(work, "tenet-demo-*", "admin.txt"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("the demo has %d passwords (%w)", len(found), err)
	}
	password, err := os.ReadFile(found[0])
	if err != nil {
		return err
	}
	b, err := webtest.Start(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	tab, done, err := b.Tab(time.Hour)
	if err != nil {
		return err
	}
	defer done()
	if err := chromedp.Do(tab, webtest.LogIn(s.url, "admin", strings.TrimSpace(string(password)))); err != nil {
		return err
	}
	for _, page := range []string{"", "/", "/hosts", "/runs", "/hosts/web1", ""} {
		target, name := "about:blank", "none"
		if page != "" {
			target, name = s.url+page, page
		}
		if err := chromedp.Do(tab, chromedp.Navigate(target), chromedp.Sleep(3*time.Second)); err != nil {
			return err
		}
		before, err := s.used()
		if err != nil {
			return err
		}
		time.Sleep(time.Duration(seconds) * time.Second)
		after, err := s.used()
		if err != nil {
			return err
		}
		fmt.Printf("with %-12s open the server takes %5.2f %% of a core\n", name, 100*(after-before).Seconds()/float64(seconds))
	}
	return nil
}

// used is how much time of processors the server has taken, by proc_pid_stat(5).
func (s *server) used() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	const user, system, tick = 11, 12, 10 * time.Millisecond // fields after the name of the program
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var sum time.Duration
	for _, i := range []int{user, system} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}
