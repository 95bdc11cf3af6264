package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

var defaultInterpreter = []string{"/bin/sh", "-c"}

// errLongLine ends a command that would never end with the official plugin.
var errLongLine = errors.New("a shown line has 64 KiB or more, where the official plugin stops reading and `up` hangs")

// outputs are what a command printed, without the last newline.
type outputs struct{ stdout, stderr string }

// process is one command with all that it runs with.
type process struct {
	inputs
	command  string
	previous outputs
}

// run waits for the command and for everybody who holds its pipes, and shows its lines as they come.
//
// When ctx ends, the direct child gets KILL. What the child has started goes on, and is waited for without limit.
func (p process) run(ctx context.Context, show func(string)) (outputs, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var stdout, stderr bytes.Buffer
	var both transcript
	// One for both streams: half a line of the one may be joined to a line of the other.
	lines := &lineWriter{show: show, tooLong: func() { end(errLongLine) }}

	cmd := p.prepare(ctx)
	cmd.Stdout = io.MultiWriter(&stdout, &both, lines.unless(p.Logging, "stderr", "none"))
	cmd.Stderr = io.MultiWriter(&stderr, &both, lines.unless(p.Logging, "stdout", "none"))
	err := cmd.Run()
	lines.flush()
	if errors.Is(context.Cause(ctx), errLongLine) {
		err = errLongLine
	}
	if err != nil {
		return outputs{}, fmt.Errorf("%w: running %q:\n%s", err, p.command, both.String())
	}
	return outputs{stdout: printed(&stdout), stderr: printed(&stderr)}, nil
}

// prepare leaves the command in the plugin's process group and, unless told otherwise, in the project's folder.
func (p process) prepare(ctx context.Context) *exec.Cmd {
	interpreter := p.Interpreter
	if len(interpreter) == 0 {
		interpreter = defaultInterpreter
	}
	cmd := exec.CommandContext(ctx, interpreter[0], append(slices.Clone(interpreter[1:]), p.command)...)
	cmd.Dir = p.Dir
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

// printed keeps bytes that are not UTF-8: the answer to the engine then fails, as the official plugin's does.
func printed(buffer *bytes.Buffer) string {
	return strings.TrimSuffix(buffer.String(), "\n")
}
