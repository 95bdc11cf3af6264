package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// guardArgument makes the plugin's binary a guard: `pulumi-resource-command guard PROCESS_GROUP`.
const guardArgument = "guard"

// startGuard starts a process that ends the group should this plugin be killed; release sends it home.
//
// A plugin that gets KILL cannot end its command itself, and a gate must not outlive its deployment.
func startGuard(group int) (release func(), err error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, guardArgument, strconv.Itoa(group))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("guard of the command: %w", err)
	}
	return func() {
		_, _ = alive.Write([]byte{1})
		_ = cmd.Wait()
	}, nil
}

// guard waits on its standard input: a byte means that the command is done, its end that the plugin is dead.
func guard(arguments []string) {
	if len(arguments) != 1 {
		os.Exit(2)
	}
	group, err := strconv.Atoi(arguments[0])
	if err != nil || group <= 1 {
		os.Exit(2)
	}
	if _, err := io.ReadFull(os.Stdin, make([]byte, 1)); err != nil {
		endGroup(group)
	}
}

// endGroup sends TERM to a process group and KILL to what is left of it after the grace.
func endGroup(group int) {
	_ = syscall.Kill(-group, syscall.SIGTERM)
	for deadline := time.Now().Add(grace); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if syscall.Kill(-group, 0) == syscall.ESRCH {
			return
		}
	}
	_ = syscall.Kill(-group, syscall.SIGKILL)
}
