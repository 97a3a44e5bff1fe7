package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/pulumi/pulumi/sdk/v3/python/toolchain"
)

// grace is how long an interrupted Python may take to leave before it is killed.
const grace = 5 * time.Second

// purpose says what a toolchain is for. It decides where the environment lies when no option names one.
type purpose bool

const (
	program purpose = false // the Python that calls us: first on PATH
	plugin  purpose = true  // an environment inside the plugin's folder, never one that others share
)

// purposeOf tells the two apart in requests that do not say it: a plugin's folder describes itself in a file.
func purposeOf(info *pulumirpc.ProgramInfo) purpose {
	_, err := os.Stat(filepath.Join(info.GetRootDirectory(), "PulumiPlugin.yaml"))
	return purpose(err == nil)
}

// options are the `runtime.options` of Pulumi.yaml, PulumiPolicy.yaml or PulumiPlugin.yaml, as far as text goes.
type options map[string]any

func (o options) text(key string) string {
	s, _ := o[key].(string)
	return s
}

// toolchainOf returns how to call Python for a program or plugin: pip, poetry or uv as its options say, else by the
// lock file in its folder.
func toolchainOf(info *pulumirpc.ProgramInfo, use purpose) (toolchain.Toolchain, error) {
	given := options(info.GetOptions().AsMap())
	chosen := toolchain.PythonOptions{
		Root:       info.GetRootDirectory(),
		ProgramDir: info.GetProgramDirectory(),
		Virtualenv: given.text("virtualenv"),
	}
	switch name := given.text("toolchain"); name {
	case "":
		chosen.Toolchain = toolchain.Auto
	case "pip":
		chosen.Toolchain = toolchain.Pip
	case "poetry":
		chosen.Toolchain = toolchain.Poetry
	case "uv":
		chosen.Toolchain = toolchain.Uv
	default:
		return nil, fmt.Errorf("runtime option toolchain is %q; allowed are pip, poetry and uv", name)
	}
	owned := chosen.Toolchain == toolchain.Poetry || chosen.Toolchain == toolchain.Uv
	if use == plugin && chosen.Virtualenv == "" && !owned {
		chosen.Virtualenv = "venv"
	}
	return toolchain.ResolveToolchain(chosen)
}

// stoppable makes the end of a command's context an interrupt first and a kill after grace.
func stoppable(cmd *exec.Cmd) {
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
}

// environment returns a command's variables, which are the host's own where the toolchain set none.
func environment(cmd *exec.Cmd) []string {
	if cmd.Env != nil {
		return cmd.Env
	}
	return os.Environ()
}

// exitCode returns the code with which a process ended; ok is false when it was not even run.
func exitCode(err error) (code int, ok bool) {
	if err == nil {
		return 0, true
	}
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode(), true
	}
	return 0, false
}

// explained adds what a command was for, and what it wrote to its standard error, to its error.
func explained(err error, doing string) error {
	var ended *exec.ExitError
	if errors.As(err, &ended) && len(ended.Stderr) > 0 {
		return fmt.Errorf("%s: %w: %s", doing, err, strings.TrimSpace(string(ended.Stderr)))
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// configJSON writes a stack's configuration. A stack without any arrives as a nil map, and the SDK needs {} there: null
// crashes it.
func configJSON(config map[string]string) (string, error) {
	if config == nil {
		return "{}", nil
	}
	text, err := json.Marshal(config)
	return string(text), err
}

// keysJSON writes the names of a stack's secrets; none is [].
func keysJSON(keys []string) (string, error) {
	if keys == nil {
		return "[]", nil
	}
	text, err := json.Marshal(keys)
	return string(text), err
}

// either returns a context that ends with the first of two.
func either(first, second context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(first)
	stop := context.AfterFunc(second, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
