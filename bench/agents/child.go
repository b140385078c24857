package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// child is a process with a part: it takes commands by lines, and answers each by a line of JSON.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// start starts a part, and reads what it says first.
func start(ctx context.Context, first any, role string, args ...string) (*child, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, own, append([]string{roleArgument, role}, args...)...)}
	c.cmd.Stderr = os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if err := c.read(first); err != nil {
		return nil, errors.Join(fmt.Errorf("the %s: %w", role, err), c.stop())
	}
	return c, nil
}

func (c *child) read(to any) error {
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, to)
}

// ask gives a command, and reads the answer.
func (c *child) ask(answer any, words ...string) error {
	if _, err := fmt.Fprintln(c.in, strings.Join(words, " ")); err != nil {
		return err
	}
	return c.read(answer)
}

// stop has it end by itself.
func (c *child) stop() error { return errors.Join(c.in.Close(), c.cmd.Wait()) }

// kill ends it at once.
func (c *child) kill() error {
	if err := c.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = c.cmd.Wait() // it says that it was killed
	return nil
}

// memory is what is resident of it, and the most that ever was, in bytes.
func (c *child) memory() (now, peak int64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(data)) {
		name, rest, _ := strings.Cut(line, ":")
		if to := map[string]*int64{"VmRSS": &now, "VmHWM": &peak}[name]; to != nil {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return 0, 0, err
			}
			*to = kb << 10
		}
	}
	return now, peak, nil
}

// serveCommands answers commands until the input ends.
func serveCommands(first any, answer func(words []string) (any, error)) error {
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(first); err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		said, err := answer(strings.Fields(lines.Text()))
		if err != nil {
			return err
		}
		if err := out.Encode(said); err != nil {
			return err
		}
	}
	return lines.Err()
}
