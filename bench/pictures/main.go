// Pictures takes pictures of all pages of a server: wide and narrow, light and dark.
//
//	go run ./bench/pictures -url https://localhost:8443 -name admin -password-file FILE -out DIR [PATH...]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
	tab, done, err := b.Tab(10 * time.Minute)
	if err != nil {
		return err
	}
	defer done()
	if err := chromedp.Do(tab, webtest.LogIn(url, name, strings.TrimSpace(string(password)))); err != nil {
		return err
	}
	for _, path := range paths {
		for _, l := range webtest.Looks() {
			if look != "" && look != l.Name {
				continue
			}
			picture := filepath.Join(out, fileName(path)+"-"+l.Name+".png")
			err := chromedp.Do(tab, l.Use(), chromedp.Navigate(url+path), chromedp.WaitReady("#main"), chromedp.Sleep(200*time.Millisecond))
			if err == nil {
				err = webtest.Picture(tab, picture)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return nil
}

// fileName is a page's path as a file's name.
func fileName(path string) string {
	name := strings.Trim(strings.NewReplacer("/", "-", "?", "-", "=", "-", "&", "-").Replace(path), "-")
	if name == "" {
		return "overview"
	}
	return name
}
