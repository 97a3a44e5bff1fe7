package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// bailCode is how a program says that it failed and has told the user already.
const bailCode = 32

// Run runs a program to its end.
func (h *host) Run(ctx context.Context, req *pulumirpc.RunRequest) (*pulumirpc.RunResponse, error) {
	if h.engine == "" {
		return nil, errors.New("the engine's address is unknown: it has neither passed it nor called Handshake")
	}
	tools, err := toolchainOf(req.GetInfo(), program)
	if err != nil {
		return nil, err
	}
	if err := tools.ValidateVenv(ctx); err != nil {
		return nil, err
	}
	config, err := configJSON(req.GetConfig())
	if err != nil {
		return nil, err
	}
	secrets, err := keysJSON(req.GetConfigSecretKeys())
	if err != nil {
		return nil, err
	}
	running, done := either(h.ctx, ctx)
	defer done()
	cmd, err := tools.Command(running, h.arguments(req)...)
	if err != nil {
		return nil, err
	}
	stoppable(cmd)
	cmd.Env = append(environment(cmd), "PULUMI_CONFIG="+config, "PULUMI_CONFIG_SECRET_KEYS="+secrets)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // the engine shows both

	err = cmd.Run()
	code, ended := exitCode(err)
	switch {
	case !ended:
		return &pulumirpc.RunResponse{Error: err.Error()}, nil
	case code == 0:
		return &pulumirpc.RunResponse{}, nil
	case code == bailCode:
		return &pulumirpc.RunResponse{Bail: true}, nil
	default:
		return &pulumirpc.RunResponse{Error: fmt.Sprintf("program exited with non-zero exit code: %d", code)}, nil
	}
}

// arguments returns the runner's command line: the flags that have a value, the entry point, the program's own.
func (h *host) arguments(req *pulumirpc.RunRequest) []string {
	args := []string{h.runner}
	for _, flag := range [][2]string{
		{"--monitor", req.GetMonitorAddress()},
		{"--engine", h.engine},
		{"--project", req.GetProject()},
		{"--root_directory", req.GetInfo().GetRootDirectory()},
		{"--stack", req.GetStack()},
		{"--pwd", req.GetPwd()},
		{"--dry_run", strconv.FormatBool(req.GetDryRun())},
		{"--parallel", strconv.Itoa(int(req.GetParallel()))},
		{"--tracing", h.tracing},
		{"--organization", req.GetOrganization()},
	} {
		if flag[1] != "" {
			args = append(args, flag[0], flag[1])
		}
	}
	args = append(args, req.GetInfo().GetEntryPoint())
	return append(args, req.GetArgs()...)
}
