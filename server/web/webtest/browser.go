// Package webtest drives Debian's chromium through the pages of a server, for tests.
package webtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Browser is a chromium without a window, with one profile: its tabs share cookies.
type Browser struct {
	ctx    context.Context
	cancel func()
}

// Step is something that is done in a tab.
type Step = chromedp.Action[chromedp.Void]

// Start starts one. It takes any certificate: those of test servers are from CAs of their own.
func Start(ctx context.Context) (*Browser, error) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		return nil, fmt.Errorf("these tests need Debian's chromium: %w", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.IgnoreCertErrors, chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true))
	ctx, end := chromedp.NewExecAllocator(ctx, options...)
	ctx, cancel := chromedp.NewContext(ctx)
	b := &Browser{ctx, func() { cancel(); end() }}
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { // starts it
		b.Close()
		return nil, err
	}
	return b, nil
}

// Close ends it.
func (b *Browser) Close() { b.cancel() }

// Tab opens a tab, whose context ends after some time. It is to be closed by the function.
func (b *Browser) Tab(limit time.Duration) (context.Context, func(), error) {
	tab, end := chromedp.NewContext(b.ctx)
	if err := chromedp.Do(tab, chromedp.Navigate("about:blank")); err != nil {
		end()
		return nil, nil, err
	}
	limited, cancel := context.WithTimeout(tab, limit)
	return limited, func() { cancel(); end() }, nil
}

// Look is how a page is looked at.
type Look struct {
	Name  string
	Width int64
	Theme string // light or dark
}

// Looks are those of all pictures.
func Looks() []Look {
	return []Look{{"wide-light", 1440, "light"}, {"wide-dark", 1440, "dark"}, {"phone-light", 390, "light"}, {"phone-dark", 390, "dark"}}
}

// Use has a tab look so.
func (l Look) Use() Step {
	const height = 900
	return chromedp.Steps(chromedp.EmulateViewport(l.Width, height), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.Theme}}})
		return err
	}))
}

// Picture writes the whole page that a tab shows to a file, as PNG.
func Picture(tab context.Context, file string) error {
	// Browsers leave out what is below the window where a page says so; a picture has all of it.
	const all = `document.adoptedStyleSheets = [new CSSStyleSheet()]; document.adoptedStyleSheets[0].replaceSync("* { content-visibility: visible !important }"); true`
	if _, err := chromedp.Run(tab, chromedp.Evaluate[bool](all)); err != nil {
		return err
	}
	const lossless = 100
	picture, err := chromedp.Run(tab, chromedp.FullScreenshot(lossless))
	if err != nil {
		return err
	}
	return os.WriteFile(file, picture, 0o644)
}

// LogIn logs a tab in.
func LogIn(url, name, password string) Step {
	return chromedp.Steps(
		chromedp.Navigate(url+"/login"),
		chromedp.SendKeys(`input[name=name]`, name),
		chromedp.SendKeys(`input[name=password]`, password),
		Follow(`main button[type=submit]`),
		chromedp.WaitReady(`nav`),
	)
}

// Follow presses a link or a button, and waits until the page to which it leads is there: what is looked for before may
// be found in the page that goes.
func Follow(selector string) Step {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.RunResponse(ctx, chromedp.Click(selector))
		return err
	})
}
