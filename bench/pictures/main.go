// Pictures takes pictures of all pages of a server: wide and narrow, light and dark. It goes to every kind of page to which
// links lead, or to those that are named.
//
//	tenet server --demo 20
//	go run ./bench/pictures -out DIR -url https://localhost:8443 -password-file FILE [PATH...]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tenetcm/tenet/server/web/webtest"
)

func main() {
	url := flag.String("url", "https://localhost:8443", "the server")
	name := flag.String("name", "admin", "who logs in")
	file := flag.String("password-file", "", "the file with their password")
	out := flag.String("out", "pictures", "the directory for the pictures")
	look := flag.String("look", "", "only this look, such as wide-light")
	flag.Parse()
	if err := take(*url, *name, *file, *out, *look, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// take takes them.
func take(url, name, file, out, look string, paths []string) error {
	password, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	b, err := webtest.Start(context.Background())
	if err != nil {
		return err
	}
	defer b.Close()
	tab, done, err := b.Tab(20 * time.Minute)
	if err != nil {
		return err
	}
	defer done()
	if err := chromedp.Do(tab, webtest.LogIn(url, name, strings.TrimSpace(string(password)))); err != nil {
		return err
	}
	each := func(address string, l webtest.Look) error {
		if look != "" && look != l.Name {
			return nil
		}
		if err := chromedp.Do(tab, chromedp.Sleep(200*time.Millisecond)); err != nil {
			return err
		}
		return webtest.Picture(tab, filepath.Join(out, webtest.FileName(address)+"-"+l.Name+".png"))
	}
	if len(paths) == 0 {
		_, err := webtest.Crawl(tab, url, each)
		return err
	}
	looks := slices.DeleteFunc(webtest.Looks(), func(l webtest.Look) bool { return look != "" && look != l.Name })
	for _, path := range paths {
		for _, l := range looks {
			err := chromedp.Do(tab, l.Use(), chromedp.Navigate(url+path), chromedp.WaitReady("#main"))
			if err == nil {
				err = each(path, l)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return nil
}
