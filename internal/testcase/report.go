package testcase

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
)

// Tested is a site with the results of its cases.
type Tested struct {
	Site    string // as the user named it
	Dir     string // what the files of cases and diagnostics are named from
	Results []Result
	// Mistakes are those of the files of cases, and what kept them from being
	// read.
	Mistakes diag.List
}

// Sum counts results.
type Sum struct {
	Cases    int           `json:"cases"`
	Passed   int           `json:"passed"`
	Failed   int           `json:"failed"`
	Invalid  int           `json:"invalid"`
	Duration time.Duration `json:"duration"` // nanoseconds
}

// SumOf counts the results of several sites.
func SumOf(all []Tested) Sum {
	var s Sum
	for _, t := range all {
		for _, r := range t.Results {
			s.add(r)
		}
		if t.Mistakes.HasErrors() {
			s.Invalid++
		}
	}
	return s
}

func (s *Sum) add(r Result) {
	s.Cases++
	s.Duration += r.Duration
	switch r.Outcome {
	case Passed:
		s.Passed++
	case Failed:
		s.Failed++
	default:
		s.Invalid++
	}
}

// Text says what failed, for people: a failure's place, what was expected and
// what came instead. Dir is the directory that places are shown below.
func (r Result) Text(dir string) string {
	var out strings.Builder
	for _, f := range r.Failures {
		fmt.Fprintf(&out, "%s: %s\n", place(dir, f.Range), f.Message)
		switch {
		case f.Diff != "":
			out.WriteString("  --- expected\n  +++ got\n" + indent(f.Diff, "  "))
		default:
			writeLabelled(&out, "  expected  ", f.Expected)
			writeLabelled(&out, "  got       ", f.Got)
		}
		writeLabelled(&out, "  hint: ", f.Hint)
	}
	return out.String()
}

func place(dir string, at diag.Range) string {
	if dir != "" && dir != "." {
		at.File = filepath.Join(dir, at.File)
	}
	return at.String()
}

func writeLabelled(out *strings.Builder, label, text string) {
	if text == "" {
		return
	}
	lines := strings.Split(strings.TrimSuffix(strings.TrimPrefix(text, "\n"), "\n"), "\n")
	out.WriteString(label + strings.Join(lines, "\n"+strings.Repeat(" ", len(label))) + "\n")
}

func indent(text, prefix string) string {
	return prefix + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+prefix) + "\n"
}

// JSON writes results as JSON lines: one for each case, and the sum.
func JSON(w io.Writer, all []Tested) error {
	e := plainjson.NewEncoder(w)
	for _, t := range all {
		for _, r := range t.Results {
			err := e.Encode(struct {
				Type        string        `json:"type"`
				Site        string        `json:"site"`
				File        string        `json:"file"`
				Line        int           `json:"line"`
				Case        string        `json:"case"`
				Outcome     Outcome       `json:"outcome"`
				Failures    []Failure     `json:"failures,omitempty"`
				Diagnostics diag.List     `json:"diagnostics,omitempty"`
				Notes       []string      `json:"notes,omitempty"`
				Updated     []string      `json:"updated,omitempty"`
				Duration    time.Duration `json:"duration"`
			}{"case", t.Site, r.Case.File, r.Case.Range.Start.Line, r.Case.Name, r.Outcome, r.Failures, r.Diagnostics, r.Notes, r.Updated, r.Duration})
			if err != nil {
				return err
			}
		}
	}
	return e.Encode(struct {
		Type string `json:"type"`
		Sum
	}{"summary", SumOf(all)})
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr,omitempty"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Error   *junitMessage `xml:"error,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",cdata"`
}

// JUnit writes results as the XML that build servers read: a suite for each
// site. A case that is wrong, or whose site is, counts as an error.
func JUnit(w io.Writer, all []Tested) error {
	sum := SumOf(all)
	doc := junitSuites{Tests: sum.Cases, Failures: sum.Failed, Errors: sum.Invalid, Time: seconds(sum.Duration)}
	for _, t := range all {
		one := SumOf([]Tested{t})
		suite := junitSuite{Name: t.Site, Tests: one.Cases, Failures: one.Failed, Errors: one.Invalid, Time: seconds(one.Duration)}
		for _, r := range t.Results {
			suite.Cases = append(suite.Cases, junitOf(t.Dir, r))
		}
		if t.Mistakes.HasErrors() {
			suite.Tests, doc.Tests = suite.Tests+1, doc.Tests+1
			suite.Cases = append(suite.Cases, junitCase{Name: "the files of cases", Class: t.Site, File: filepath.Join(t.Dir, Dir),
				Time: seconds(0), Error: junitMistakes(t.Mistakes)})
		}
		doc.Suites = append(doc.Suites, suite)
	}
	var out bytes.Buffer
	out.WriteString(xml.Header)
	e := xml.NewEncoder(&out)
	e.Indent("", "  ")
	if err := e.Encode(doc); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err := w.Write(out.Bytes())
	return err
}

func junitOf(dir string, r Result) junitCase {
	file := filepath.Join(dir, r.Case.File)
	c := junitCase{Name: r.Case.Name, Class: strings.TrimSuffix(file, ".hcl"), File: file, Line: r.Case.Range.Start.Line, Time: seconds(r.Duration)}
	switch r.Outcome {
	case Failed:
		c.Failure = &junitMessage{Message: r.Failures[0].Message, Text: "\n" + ui.Clean(r.Text(dir))}
	case Invalid:
		c.Error = junitMistakes(r.Diagnostics)
	}
	return c
}

func junitMistakes(list diag.List) *junitMessage {
	m := &junitMessage{Text: "\n" + ui.Clean(list.Error()) + "\n"}
	for _, d := range list {
		if d.Severity == diag.Error && m.Message == "" {
			m.Message = d.Summary
		}
	}
	return m
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
