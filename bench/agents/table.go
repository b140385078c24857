package main

import (
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/server/deploy"
)

// table gives the figures as Markdown, with what was wanted.
func table(f *figures) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d agents, measured on %s UTC with %d CPUs for server and agents together; the load of the machine was %.1f before.\n\n", f.Agents, f.At, f.Processors, f.Load)
	b.WriteString("| | measured | wanted |\n|---|---|---|\n")
	row := func(name, value, wanted string) { fmt.Fprintf(&b, "| %s | %s | %s |\n", name, value, wanted) }
	row("all connect", fmt.Sprintf("%.1f s, %.1f s of the server's processor", f.Connected, f.ConnectedCPU), "")
	row("memory of the server for each, at rest", fmt.Sprintf("%.1f KB (at most %.1f KB, while they connected)", f.PerAgent, f.PeakPerAgent), limit(f.PerAgent, 80, "≤ 80 KB"))
	row("processor of the server at rest", fmt.Sprintf("%.0f %% of one", 100*f.Idle), "")
	if f.Back > 0 {
		row("all are back after `kill -9` of the server", fmt.Sprintf("%.1f s (half of them: %.1f s)", f.Back, f.BackHalf), limit(f.Back, 120, "< 120 s"))
	}
	if f.PingAll > 0 {
		row(fmt.Sprintf("ping of %d", f.Pinged), fmt.Sprintf("%.1f s", f.PingAll), limit(f.PingAll, 16, "< 16 s"))
	}
	if f.Deployed > 0 {
		row("one file deployed to all", fmt.Sprintf("%.1f s, at most %.0f MB", f.Deployed, f.DeployedPeak), "")
	}
	if f.Readers > 0 {
		row(fmt.Sprintf("%d hosts read each other, 1 %% flap for %.0f s", f.Readers, f.FlappingFor),
			fmt.Sprintf("%d evaluations of a host, %.0f %% of a processor, from %.0f MB to at most %.0f MB", f.Evaluations, 100*f.FlappingCPU, f.FlappingStart, f.FlappingPeak),
			flappingText(f))
	}
	if f.Lists > 0 {
		row("lists of the API", fmt.Sprintf("p50 %.1f ms, p99 %.1f ms", 1000*f.ListP50, 1000*f.ListP99), limit(f.ListP99, 0.2, "p99 < 200 ms"))
	}
	return b.String()
}

// flappingText says whether hosts that read each other are evaluated no more often than they may be. That is seen only where some were, for longer than a host waits
// for the next evaluation.
func flappingText(f *figures) string {
	const wanted = "one evaluation a host in 5 min"
	if f.Evaluations == 0 || f.FlappingFor <= deploy.Between.Seconds() {
		return wanted + ": not seen"
	}
	return limit(float64(f.Evaluations), float64(f.Readers)*(f.FlappingFor/deploy.Between.Seconds()+2), wanted)
}

// limit says whether a figure is within what is wanted.
func limit(value, most float64, text string) string {
	if value < most {
		return text + ": met"
	}
	return text + ": **not met**"
}
