// Package tutorial reads pages that tests follow as a reader would: they write the files
// that a page shows, run its commands, and compare what these print.
//
// Each fenced block of a page is one of
//
//   - a file, if the paragraph before it begins with "Write `NAME`" or "Add to `NAME`";
//   - a session, if its language is console: each command follows "$ ", or "# " where it
//     takes root, and what it prints follows it. A line that begins with "> " goes on with
//     the command.
//
// Any other one is an error, so that nothing is left untested by mistake. What is indented is for
// reading only.
package tutorial

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Step is one thing that a reader does.
type Step struct {
	Line int // where it is in the page, from 1

	File   string // the file to write; "": a command
	Append bool   // whether the text is added to the file
	Text   string // of the file

	Command string
	Root    bool   // whether it takes root
	Output  string // what it prints, on both streams

	first, last int // the lines of the output: [first, last)
}

// Parse gives the steps of a page in their order.
func Parse(page string) ([]Step, error) {
	fence := regexp.MustCompile("^```(\\S*)$")
	written := regexp.MustCompile("^(Write|Add to) `([^`]+)`")
	var steps []Step
	lines := strings.Split(page, "\n")
	paragraph, between := "", true
	for i := 0; i < len(lines); i++ {
		m := fence.FindStringSubmatch(lines[i])
		if m == nil {
			switch {
			case lines[i] == "":
				between = true
			case between:
				paragraph, between = lines[i], false
			}
			continue
		}
		end := i + 1 + slices.Index(lines[i+1:], "```")
		if end == i {
			return nil, fmt.Errorf("line %d: the block has no end", i+1)
		}
		file := written.FindStringSubmatch(paragraph)
		switch {
		case m[1] == "console":
			session, err := parseSession(lines, i+1, end)
			if err != nil {
				return nil, err
			}
			steps = append(steps, session...)
		case file != nil:
			steps = append(steps, Step{Line: i + 1, File: file[2], Append: file[1] == "Add to", Text: joined(lines[i+1 : end])})
		default:
			return nil, fmt.Errorf("line %d: the block is neither a session nor a file", i+1)
		}
		i, paragraph, between = end, "", true
	}
	return steps, nil
}

// parseSession reads the lines [i, end) of a session.
func parseSession(lines []string, i, end int) ([]Step, error) {
	var steps []Step
	for i < end {
		prompt, command, ok := strings.Cut(lines[i], " ")
		if !ok || prompt != "$" && prompt != "#" {
			return nil, fmt.Errorf("line %d: a session begins with a command", i+1)
		}
		s := Step{Line: i + 1, Command: command, Root: prompt == "#"}
		for i++; i < end && strings.HasPrefix(lines[i], "> "); i++ {
			s.Command += "\n" + lines[i][2:]
		}
		for s.first = i; i < end && !strings.HasPrefix(lines[i], "$ ") && !strings.HasPrefix(lines[i], "# "); i++ {
		}
		s.last = i
		s.Output = joined(lines[s.first:s.last])
		steps = append(steps, s)
	}
	return steps, nil
}

// Rewrite gives the page with what the commands of its steps print, each as its Output has it now.
func Rewrite(page string, steps []Step) string {
	lines := strings.Split(page, "\n")
	for _, s := range slices.Backward(steps) {
		if s.Command != "" {
			output := strings.Split(s.Output, "\n")
			lines = slices.Replace(lines, s.first, s.last, output[:len(output)-1]...)
		}
	}
	return strings.Join(lines, "\n")
}

func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
