package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// grace is the time between TERM and KILL; the engine gives a plugin 5 s to end.
	grace = 3 * time.Second
	// settle is the time a killed process gets to close its pipes; one that left its group may hold them for ever.
	settle = time.Second
)

var defaultInterpreter = []string{"/bin/sh", "-c"}

// outputs are what a command printed, without the last newline.
type outputs struct{ stdout, stderr string }

// process is one command with all that it runs with.
type process struct {
	inputs
	command  string
	previous outputs
}

// run waits for the command and shows its lines as they come; when ctx ends, the command's process group is ended.
func (p process) run(ctx context.Context, show func(string)) (outputs, error) {
	var stdout, stderr bytes.Buffer
	var shown tail
	outLines := &lineWriter{show: show, enabled: p.Logging != "stderr" && p.Logging != "none"}
	errLines := &lineWriter{show: show, enabled: p.Logging != "stdout" && p.Logging != "none"}

	if p.Dir != "" {
		// Without this, a missing folder is reported as a missing interpreter.
		if _, err := os.Stat(p.Dir); err != nil {
			return outputs{}, p.failure(err, "")
		}
	}
	cmd := p.prepare()
	cmd.Stdout = io.MultiWriter(&stdout, &shown, outLines)
	cmd.Stderr = io.MultiWriter(&stderr, &shown, errLines)
	if err := cmd.Start(); err != nil {
		return outputs{}, p.failure(err, "")
	}
	release, err := startGuard(cmd.Process.Pid)
	if err != nil {
		endGroup(cmd.Process.Pid)
		return outputs{}, errors.Join(err, cmd.Wait())
	}
	defer release()

	finished := make(chan error, 1)
	go func() { finished <- cmd.Wait() }()
	select {
	case err = <-finished:
	case <-ctx.Done():
		endGroup(cmd.Process.Pid)
		select {
		case <-finished:
		case <-time.After(settle):
		}
		return outputs{}, p.failure(interruption(ctx), shown.String())
	}
	outLines.flush()
	errLines.flush()
	if err != nil {
		return outputs{}, p.failure(err, shown.String())
	}
	return outputs{stdout: printed(&stdout), stderr: printed(&stderr)}, nil
}

// prepare gives the command a process group of its own and the working directory of the plugin: the project's folder.
func (p process) prepare() *exec.Cmd {
	interpreter := p.Interpreter
	if len(interpreter) == 0 {
		interpreter = defaultInterpreter
	}
	arguments := append(append([]string{}, interpreter[1:]...), p.command)
	cmd := exec.Command(interpreter[0], arguments...)
	cmd.Dir = p.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.Stdin != "" {
		cmd.Stdin = strings.NewReader(p.Stdin)
	}
	cmd.Env = os.Environ()
	for name, value := range p.Environment {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if p.AddPreviousOutputInEnv == nil || *p.AddPreviousOutputInEnv {
		if p.previous.stdout != "" {
			cmd.Env = append(cmd.Env, "PULUMI_COMMAND_STDOUT="+p.previous.stdout)
		}
		if p.previous.stderr != "" {
			cmd.Env = append(cmd.Env, "PULUMI_COMMAND_STDERR="+p.previous.stderr)
		}
	}
	return cmd
}

// failure says what happened, to which command (its first line), and what it printed last.
func (p process) failure(err error, printed string) error {
	first, _, more := strings.Cut(p.command, "\n")
	if more {
		first += " …"
	}
	return fmt.Errorf("%w: running %q\n%s", err, first, strings.TrimSpace(printed))
}

func interruption(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("timed out (customTimeouts)")
	}
	return errors.New("canceled")
}

func printed(buffer *bytes.Buffer) string {
	return strings.ToValidUTF8(strings.TrimSuffix(buffer.String(), "\n"), "\uFFFD")
}
