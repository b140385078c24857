package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// table gives the rows as Markdown.
func table(rows []row) string {
	others := []string{"limit", "shell", "ssh", "rsync", "cp", "cfengine", "ansible"}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", machine())
	b.WriteString("| case | tenet | peak | limit | shell | ssh | rsync | cp | CFEngine | Ansible | wanted |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		own := r.times["tenet"]
		fmt.Fprintf(&b, "| %s | %s | %d MB ", r.c.text, seconds(own), r.peak/1_000_000)
		for _, name := range others {
			other, measured := r.times[name]
			if !measured {
				b.WriteString("| ")
				continue
			}
			fmt.Fprintf(&b, "| %s (%s) ", seconds(other), ratio(own, other))
		}
		fmt.Fprintf(&b, "| %s |\n", verdict(r, rows))
	}
	return b.String()
}

// ratio says how tenet compares with another program.
func ratio(own, other time.Duration) string {
	if own > other {
		return fmt.Sprintf("tenet takes %.1f ×", own.Seconds()/other.Seconds())
	}
	return fmt.Sprintf("tenet is %.1f × faster", other.Seconds()/own.Seconds())
}

func verdict(r row, all []row) string {
	var parts []string
	for _, w := range r.c.aims {
		mark := "met"
		if w.needs != "" && r.times[w.needs] == 0 {
			mark = "not measured"
		} else if !w.isMet(r, all) {
			mark = "**not met**"
		}
		parts = append(parts, w.text+": "+mark)
	}
	return strings.Join(parts, "; ")
}

func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// machine says what the numbers were measured on, as far as it matters for
// ratios.
func machine() string {
	kernel, _ := exec.Command("uname", "-r").Output() // only for the text
	release, _, _ := bytes.Cut(bytes.TrimSpace(kernel), []byte("-"))
	return fmt.Sprintf("Measured on %s with %d CPUs, Linux %s, %s, by `bench/run`.",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), release, runtime.Version())
}
