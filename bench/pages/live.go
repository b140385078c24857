package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tenetcm/tenet/server/web/webtest"
)

// watchLive tells how much of a core a server takes with some pages open in a browser, and with none: of a demo, in which
// something happens every few seconds.
func watchLive(ctx context.Context, program, work string, seconds int) error {
	s, err := webtest.Launch(program, work, "", "--demo", "20")
	if err != nil {
		return err
	}
	defer s.Kill()
	const warm = 45 * time.Second
	time.Sleep(warm)
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
	if err := chromedp.Do(tab, webtest.LogIn(s.URL, "admin", s.Password)); err != nil {
		return err
	}
	for _, page := range []string{"", "/", "/hosts", "/runs", "/hosts/web1", ""} {
		target, name := "about:blank", "none"
		if page != "" {
			target, name = s.URL+page, page
		}
		if err := chromedp.Do(tab, chromedp.Navigate(target), chromedp.Sleep(3*time.Second)); err != nil {
			return err
		}
		before, err := used(s.PID())
		if err != nil {
			return err
		}
		time.Sleep(time.Duration(seconds) * time.Second)
		after, err := used(s.PID())
		if err != nil {
			return err
		}
		fmt.Printf("with %-12s open the server takes %5.2f %% of a core\n", name, 100*(after-before).Seconds()/float64(seconds))
	}
	return nil
}

// used is how much time of processors a process has taken, by proc_pid_stat(5).
func used(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
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
