package main

import (
	"bytes"
	"io"
	"net"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/lang/diag"
)

// countingWriter counts the hosts that an answer is about: the recipients of what is sealed stand in it.
type countingWriter struct {
	to    io.Writer
	count int
}

// Write passes on what is written.
func (w *countingWriter) Write(p []byte) (int, error) {
	w.count += bytes.Count(p, []byte(`"sealed":`))
	return w.to.Write(p)
}

func (w *countingWriter) results() int { return w.count }

// processorTime is how much of the processors this process has had, in seconds.
func processorTime() float64 {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// splitAddress gives the host and the port of HOST:PORT.
func splitAddress(address string) (host, port string) {
	host, port, _ = net.SplitHostPort(address)
	return host, port
}

// freeAddress is a port of this machine that nobody uses now.
func freeAddress(host string) (string, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// diagText is an error with what helps.
func diagText(err error) string {
	if hint := diag.HintOf(err); hint != "" {
		return err.Error() + " (" + hint + ")"
	}
	return err.Error()
}
