package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/bench/readme"
	"github.com/tenetcm/tenet/server/web/webtest"
)

// reader is somebody who asks for pages.
type reader struct {
	name   string
	client *http.Client
	url    string
	cookie string
}

// askPages starts a server, and asks for each page as somebody who may read all, and as somebody who may read little.
func askPages(ctx context.Context, program, work string, o options) error {
	password, err := webtest.PasswordOf(o.dir)
	if err != nil {
		return err
	}
	begin := time.Now()
	s, err := webtest.Launch(program, work, password, "--dir", o.dir)
	if err != nil {
		return err
	}
	defer s.Kill()
	fmt.Printf("it serves after %.1f s\n", time.Since(begin).Seconds())
	all := &reader{name: "admin", client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}, url: s.URL}
	if err := all.logIn(ctx, "admin", password); err != nil {
		return err
	}
	little := &reader{name: "narrow", client: all.client, url: s.URL}
	const secret = "a reader of the bench"
	if err := all.do(ctx, http.MethodPost, "/v1/people", map[string]any{"name": "narrow", "password": secret, "grants": []map[string]string{{"verb": "read", "hosts": "role=db,!zone=z1", "site": "*"}}}, nil); err != nil && !strings.Contains(err.Error(), "exists") {
		return err
	}
	if err := little.logIn(ctx, "narrow", secret); err != nil {
		return err
	}
	run := struct {
		Items []struct{ Name, Run string }
	}{}
	if err := all.do(ctx, http.MethodGet, "/v1/runs?limit=1&select=node00000", nil, &run); err != nil {
		return err
	}
	pages := []string{"/", "/hosts", "/hosts?words=node123", "/hosts?words=web+shop", "/hosts?select=role%3Ddb", "/hosts?phase=help", "/hosts?readiness=not-ready&select=zone%3Dz3", "/hosts?drift=drifted", "/groups",
		"/hosts/node00042", "/runs", "/runs?outcome=failed", "/runs?select=role%3Ddb", "/deployments", "/deployments/1", "/deployments/1?tab=hosts", "/sites", "/sites/shop",
		"/sites/shop/revisions/1", "/sources", "/clusters", "/enrolment", "/audit", "/people", "/people/narrow", "/server", "/account"}
	if len(run.Items) > 0 {
		pages = append(pages, "/hosts/"+run.Items[0].Name+"/runs/"+run.Items[0].Run)
	}
	var table strings.Builder
	table.WriteString("| page | all | p95 | a fifth | p95 | KiB |\n|---|--:|--:|--:|--:|--:|\n")
	for _, page := range pages {
		a, size, err := all.time(ctx, page, o.times)
		if err != nil {
			return err
		}
		n, _, err := little.time(ctx, page, o.times)
		if err != nil {
			return err
		}
		fmt.Fprintf(&table, "| `%s` | %d | %d | %d | %d | %d |\n", page, at(a, 50), at(a, 95), at(n, 50), at(n, 95), size>>10)
	}
	fmt.Print(table.String())
	if o.readme != "" {
		return readme.Write(o.readme, "pages", table.String())
	}
	return nil
}

// at gives a percentile in milliseconds.
func at(times []time.Duration, percent int) int64 {
	slices.Sort(times)
	return times[min(len(times)-1, len(times)*percent/100)].Milliseconds()
}

// time asks for a page some times, after once that does not count.
func (r *reader) time(ctx context.Context, page string, times int) (list []time.Duration, size int, err error) {
	for i := range times + 1 {
		begin := time.Now()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+page, nil)
		if err != nil {
			return nil, 0, err
		}
		request.Header.Set("Cookie", r.cookie)
		answer, err := r.client.Do(request)
		if err != nil {
			return nil, 0, err
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			return nil, 0, err
		}
		if answer.StatusCode >= http.StatusInternalServerError {
			return nil, 0, fmt.Errorf("%s: %s", page, answer.Status)
		}
		if i > 0 {
			list = append(list, time.Since(begin))
		}
		size = len(text)
	}
	return list, size, nil
}

// logIn begins a session.
func (r *reader) logIn(ctx context.Context, name, password string) error {
	return r.do(ctx, http.MethodPost, "/v1/login", map[string]any{"name": name, "password": password, "cookie": true}, nil)
}

// do asks the API.
func (r *reader) do(ctx context.Context, method, path string, body, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	var reader io.Reader
	if body != nil {
		reader = strings.NewReader(string(text))
	}
	request, err := http.NewRequestWithContext(ctx, method, r.url+path, reader)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Origin", r.url)
	request.Header.Set("Cookie", r.cookie)
	answer, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if text, err = io.ReadAll(answer.Body); err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %s", method, path, text)
	}
	if cookies := answer.Cookies(); len(cookies) > 0 {
		r.cookie = cookies[0].Name + "=" + cookies[0].Value
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}
