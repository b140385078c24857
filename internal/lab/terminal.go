package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// StartOnTerminal is Start of a program that runs on a terminal, with 120 columns and
// 40 lines: Type types on it, and what is shown is the process's output.
func (c *Controller) StartOnTerminal(ctx context.Context, argv ...string) (*Process, error) {
	master, slave, err := openTerminal()
	if err != nil {
		return nil, fmt.Errorf("lab: open a terminal: %w", err)
	}
	defer slave.Close()
	cmd := c.command(ctx, argv)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p, err := c.start(cmd)
	if err != nil {
		return nil, errors.Join(err, master.Close())
	}
	p.terminal = master
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			_, _ = p.into(&p.stdout).Write(buffer[:n])
			if err != nil {
				return // it has ended
			}
		}
	}()
	go func() {
		<-p.ended
		_ = master.Close() // nobody types any more
	}()
	return p, nil
}

// Type types on the terminal.
func (p *Process) Type(text string) error {
	_, err := p.terminal.WriteString(text)
	return err
}

// openTerminal makes a terminal and gives both its ends.
func openTerminal() (master, slave *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120})
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	return master, slave, nil
}
