package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
)

func within(t *testing.T, limit time.Duration, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// startLong starts a shell with a child that holds its pipes; it returns both ids and the operation's error.
func startLong(t *testing.T, p *provider, ctx context.Context, timeout float64) (shell, child int, done chan error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pids")
	done = make(chan error, 1)
	go func() {
		_, err := p.Create(ctx, plugin.CreateRequest{URN: urn, Timeout: timeout, Properties: propertyMap(properties{
			"create":      `sleep 60 & echo $$ $! > "$FILE.tmp"; mv "$FILE.tmp" "$FILE"; wait`,
			"environment": properties{"FILE": file},
		})})
		done <- err
	}()
	within(t, 20*time.Second, "the command writes its process ids", func() bool {
		_, err := fmt.Sscan(readFile(file), &shell, &child)
		return err == nil
	})
	t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) })
	return shell, child, done
}

func readFile(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(content)
}

func runs(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestTheEndOfAnOperationKillsTheChildAndWaitsForItsPipes(t *testing.T) {
	requestGone := func(_ *provider, hangUp func()) { hangUp() }
	cancelled := func(p *provider, _ func()) { _ = p.SignalCancellation(context.Background()) }
	cases := map[string]struct {
		timeout float64
		end     func(p *provider, hangUp func())
	}{
		"canceled":       {0, cancelled},
		"engine is gone": {0, requestGone},
		"custom timeout": {2.9, func(*provider, func()) {}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, _ := newTestProvider()
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			shell, child, done := startLong(t, p, ctx, c.timeout)
			c.end(p, hangUp)
			within(t, 10*time.Second, "the shell is gone", func() bool { return !runs(shell) })
			select {
			case err := <-done:
				t.Fatalf("it did not wait for the pipes: %v", err)
			case <-time.After(500 * time.Millisecond):
			}
			if !runs(child) {
				t.Fatal("more than the direct child was killed")
			}
			_ = syscall.Kill(child, syscall.SIGKILL)
			if err := <-done; err == nil || !strings.HasPrefix(err.Error(), "signal: killed: running ") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestACustomTimeoutCountsWholeSeconds(t *testing.T) {
	p, _ := newTestProvider()
	_, err := p.Create(t.Context(), plugin.CreateRequest{
		URN: urn, Timeout: 0.9, Properties: propertyMap(properties{"create": "true"}),
	})
	if err == nil || !strings.HasPrefix(err.Error(), "context deadline exceeded: running ") {
		t.Errorf("got %v", err)
	}
}

func TestNothingStartsAfterACancel(t *testing.T) {
	p, _ := newTestProvider()
	p.cancel()
	_, err := p.Create(t.Context(), plugin.CreateRequest{URN: urn, Properties: propertyMap(properties{"create": "true"})})
	if err == nil || !strings.HasPrefix(err.Error(), "context canceled: running ") {
		t.Errorf("got %v", err)
	}
}

func TestACommandStaysInThePluginsProcessGroup(t *testing.T) {
	p, _ := newTestProvider()
	shell, _, _ := startLong(t, p, t.Context(), 0)
	defer p.cancel()
	if group, err := syscall.Getpgid(shell); err != nil || group != syscall.Getpgrp() {
		t.Errorf("its group is %d (%v), the plugin's %d", group, err, syscall.Getpgrp())
	}
}

func TestWhatACommandLeavesInTheBackgroundLivesOn(t *testing.T) {
	state := create(t, properties{"create": "sleep 60 >/dev/null 2>&1 & echo $!"})
	pid, err := strconv.Atoi(state.Properties["stdout"].StringValue())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("it is gone: %v", err)
	}
}

func TestLinesAreShownWhileTheCommandRuns(t *testing.T) {
	p, lines := newTestProvider()
	fifo := filepath.Join(t.TempDir(), "go-on")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := p.Create(t.Context(), plugin.CreateRequest{URN: urn, Properties: propertyMap(properties{
			"create": `echo first; cat "$FIFO"; printf 'last'`, "environment": properties{"FIFO": fifo},
		})})
		done <- err
	}()
	select {
	case line := <-lines:
		if line != "first" {
			t.Errorf("got %q", line)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("no line although the command printed one")
	}
	if err := os.WriteFile(fifo, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if first, second := <-lines, <-lines; first != "go" || second != "last" {
		t.Errorf("got %q and %q", first, second)
	}
}

func TestLoggingChoosesTheStreams(t *testing.T) {
	for logging, want := range map[string]int{"": 2, "stdoutAndStderr": 2, "stdout": 1, "stderr": 1, "none": 0} {
		p, lines := newTestProvider()
		inputs := properties{"create": "echo out; echo err >&2"}
		if logging != "" {
			inputs["logging"] = logging
		}
		response, err := p.Create(t.Context(), plugin.CreateRequest{URN: urn, Properties: propertyMap(inputs)})
		if err != nil {
			t.Fatal(err)
		}
		if len(lines) != want {
			t.Errorf("%q: %d lines shown, want %d", logging, len(lines), want)
		}
		if got := outputsOf(response.Properties); got != (outputs{"out", "err"}) {
			t.Errorf("%q: captured %v", logging, got)
		}
	}
}

// xs prints a line of that many bytes.
func xs(bytes int) string {
	return fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; echo", bytes)
}

func TestALineBelow64KiBIsShownWhole(t *testing.T) {
	p, lines := newTestProvider()
	if _, err := p.Create(t.Context(), plugin.CreateRequest{URN: urn, Properties: propertyMap(properties{
		"create": xs(longLine-1) + "; printf '\\r\\nend\\r'",
	})}); err != nil {
		t.Fatal(err)
	}
	if got := []int{len(<-lines), len(<-lines)}; !slices.Equal(got, []int{longLine - 1, 0}) {
		t.Errorf("lines of %d bytes", got)
	}
	if got := <-lines; got != "end" || len(lines) != 0 {
		t.Errorf("the last line is %q, and %d more", got, len(lines))
	}
}

func TestALineOf64KiBEndsTheCommandWithTheReason(t *testing.T) {
	for name, c := range map[string]string{
		"with its end":     xs(longLine),
		"without an end":   "yes | tr -d '\\n' | head -c 1000000",
		"on stderr":        "{ " + xs(longLine) + "; } >&2",
		"and then silence": xs(longLine) + "; exec sleep 300",
		"by a child":       "{ yes | tr -d '\\n'; } & wait",
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := newTestProvider()
			start := time.Now()
			_, err := p.Create(t.Context(), plugin.CreateRequest{URN: urn, Properties: propertyMap(properties{"create": c})})
			if err == nil || !strings.HasPrefix(err.Error(), errLongLine.Error()+": running ") {
				t.Errorf("got %.200v", err)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestALineThatIsNotShownMayBeLong(t *testing.T) {
	for logging, redirect := range map[string]string{"none": "", "stderr": "", "stdout": " >&2"} {
		create(t, properties{"create": "{ " + xs(3*longLine) + "; }" + redirect, "logging": logging})
	}
}

func TestAFailureNamesStatusCommandAndAllOutput(t *testing.T) {
	p, _ := newTestProvider()
	command := "echo to stdout\necho to stderr >&2\n" + xs(300000) + "\nexit 3"
	_, err := p.Create(t.Context(), plugin.CreateRequest{URN: urn, Properties: propertyMap(properties{
		"create": command, "logging": "none",
	})})
	if err == nil {
		t.Fatal("no error")
	}
	start, output, _ := strings.Cut(err.Error(), ":\n")
	if want := fmt.Sprintf("exit status 3: running %q", command); start != want {
		t.Errorf("got %q, want %q", start, want)
	}
	for _, part := range []string{"to stdout\n", "to stderr\n", strings.Repeat("x", 300000) + "\n"} {
		if !strings.Contains(output, part) {
			t.Errorf("%d bytes of output lack %.20q", len(output), part)
		}
	}
}

func TestWhatCannotStartIsAnError(t *testing.T) {
	for name, inputs := range map[string]properties{
		"dir":         {"create": "true", "dir": "/no/such/folder"},
		"interpreter": {"create": "true", "interpreter": []any{"/no/such/program"}},
	} {
		p, _ := newTestProvider()
		_, err := p.Create(t.Context(), plugin.CreateRequest{URN: urn, Properties: propertyMap(inputs)})
		if err == nil || !strings.Contains(err.Error(), "/no/such/") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
