package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
)

// TestMain lets the test binary play the guard, as the plugin's own binary does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == guardArgument {
		guard(os.Args[2:])
		return
	}
	os.Exit(m.Run())
}

func within(t *testing.T, limit time.Duration, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// startLong starts a command with a child of its own and returns the ids that both wrote and the operation's error.
func startLong(t *testing.T, p *provider, ctx context.Context, script string, timeout float64) ([2]int, chan error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pids")
	done := make(chan error, 1)
	go func() {
		_, err := p.Create(ctx, plugin.CreateRequest{URN: urn, Timeout: timeout, Properties: propertyMap(properties{
			"create": script + ` sleep 60 & echo $$ $! > "$FILE.tmp"; mv "$FILE.tmp" "$FILE"; wait; wait`, "environment": properties{"FILE": file},
		})})
		done <- err
	}()
	var pids [2]int
	within(t, 20*time.Second, "the command writes its process ids", func() bool {
		fields := strings.Fields(readFile(file))
		if len(fields) != 2 {
			return false
		}
		pids[0], _ = strconv.Atoi(fields[0])
		pids[1], _ = strconv.Atoi(fields[1])
		return true
	})
	return pids, done
}

func readFile(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(content)
}

func gone(pids [2]int) func() bool {
	return func() bool {
		for _, pid := range pids {
			stat := readFile("/proc/" + strconv.Itoa(pid) + "/stat")
			if stat == "" {
				stat = "x) Z" // no /proc on this system, or no such process: signal 0 decides
			}
			zombie := strings.Contains(stat, ") Z")
			if syscall.Kill(pid, 0) == nil && !(zombie && readFile("/proc/self/stat") != "") {
				return false
			}
		}
		return true
	}
}

func TestCancelEndsTheCommandAndItsChildren(t *testing.T) {
	p, _ := newTestProvider()
	pids, done := startLong(t, p, t.Context(), "", 0)
	start := time.Now()
	if err := p.SignalCancellation(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > grace {
		t.Errorf("TERM was not enough: %s", took)
	}
	within(t, 5*time.Second, "both processes are gone", gone(pids))
}

func TestACommandThatIgnoresTermIsKilled(t *testing.T) {
	p, _ := newTestProvider()
	pids, done := startLong(t, p, t.Context(), "trap '' TERM;", 0)
	start := time.Now()
	p.cancel()
	<-done
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %s, the engine waits for 5 s only", took)
	}
	within(t, 5*time.Second, "both processes are gone", gone(pids))
}

func TestTheEndOfTheRequestEndsTheCommand(t *testing.T) {
	p, _ := newTestProvider()
	ctx, hangUp := context.WithCancel(t.Context())
	pids, done := startLong(t, p, ctx, "", 0)
	hangUp()
	<-done
	within(t, 5*time.Second, "both processes are gone", gone(pids))
}

func TestCustomTimeout(t *testing.T) {
	p, _ := newTestProvider()
	pids, done := startLong(t, p, t.Context(), "", 0.5)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "timed out") {
		t.Errorf("got %v", err)
	}
	within(t, 5*time.Second, "both processes are gone", gone(pids))
}

func TestTheGuardEndsTheGroupOfADeadPlugin(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "sleep 60 & wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watcher := exec.Command(os.Args[0], guardArgument, strconv.Itoa(cmd.Process.Pid))
	alive, err := watcher.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watcher.Start(); err != nil {
		t.Fatal(err)
	}
	_ = alive.Close() // what the kernel does when the plugin is killed
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the command lives on")
	}
	_ = watcher.Wait()
	if err := syscall.Kill(-cmd.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
		within(t, 5*time.Second, "the group is gone", func() bool {
			return errors.Is(syscall.Kill(-cmd.Process.Pid, 0), syscall.ESRCH)
		})
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

func TestALineLongerThanTheBufferDoesNotBlock(t *testing.T) {
	p, lines := newTestProvider()
	response, err := p.Create(t.Context(), plugin.CreateRequest{URN: urn, Properties: propertyMap(properties{
		"create": "head -c 300000 /dev/zero | tr '\\0' x; echo; echo end",
	})})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("x", 300000)
	if got := response.Properties["stdout"].StringValue(); got != want+"\nend" {
		t.Errorf("captured %d bytes", len(got))
	}
	close(lines)
	shown, last := "", ""
	for line := range lines {
		if len(line) > maxLine {
			t.Errorf("a piece of %d bytes", len(line))
		}
		shown, last = shown+line, line
	}
	if shown != want+"end" || last != "end" {
		t.Errorf("shown %d bytes, last %q", len(shown), last)
	}
}

func TestAFailureNamesStatusCommandAndOutput(t *testing.T) {
	p, _ := newTestProvider()
	_, err := p.Create(t.Context(), plugin.CreateRequest{URN: urn, Properties: propertyMap(properties{
		"create": "echo to stdout\necho to stderr >&2\nexit 3",
	})})
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"exit status 3", `"echo to stdout …"`, "\nto stdout", "\nto stderr"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}

func TestAFailureRepeatsTheEndOfALongOutputOnly(t *testing.T) {
	p, _ := newTestProvider()
	_, err := p.Create(t.Context(), plugin.CreateRequest{URN: urn, Properties: propertyMap(properties{
		"create": "yes | head -n 50000; echo the reason; exit 1", "logging": "none",
	})})
	if err == nil || len(err.Error()) > maxTail+200 || !strings.HasSuffix(err.Error(), "the reason") {
		t.Errorf("%d bytes", len(err.Error()))
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
