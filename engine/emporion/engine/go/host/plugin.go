package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/pulumi/pulumi/sdk/v3"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/pulumi/pulumi/sdk/v3/python/toolchain"
	"google.golang.org/grpc"
)

// RunPlugin runs a policy pack or a plugin written in Python until it ends, and hands on what it prints. The first line
// of a plugin's output is the port that the engine then calls.
func (h *host) RunPlugin(
	req *pulumirpc.RunPluginRequest, stream grpc.ServerStreamingServer[pulumirpc.RunPluginResponse],
) error {
	closer, stdout, stderr, err := rpcutil.MakeRunPluginStreams(stream, false)
	if err != nil {
		return err
	}
	defer closer.Close()
	ctx, done := either(stream.Context(), h.ctx)
	defer done()

	var cmd *exec.Cmd
	wait := func() error { return cmd.Wait() }
	abort := func(error) {}
	if req.GetKind() == "analyzer" {
		if cmd, err = packCommand(ctx, req); err != nil {
			return err
		}
		// A pack reads the stack's name and configuration from its environment when it starts, and the engine sends
		// them only to a pack that answers. So a proxy answers first (its port is what gets printed), and the pack is
		// started once the engine has spoken.
		proxy, packStdout, err := sdk.NewPolicyProxy(ctx, stdout)
		if err != nil {
			return err
		}
		stack, err := proxy.AwaitConfiguration(ctx)
		if err != nil {
			return err
		}
		if cmd.Env, err = packEnvironment(cmd, stack); err != nil {
			return err
		}
		stdout, abort = packStdout, proxy.Abort
		wait = func() error { return proxy.Attach(ctx, cmd) }
	} else if cmd, err = pluginCommand(ctx, req); err != nil {
		return err
	}
	cmd.Env = append(environment(cmd), req.GetEnv()...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		abort(err) // whoever waits for the pack would wait for ever
		return err
	}
	err = wait()
	code, ended := exitCode(err)
	if !ended {
		return err
	}
	if code != 0 {
		return stream.Send(&pulumirpc.RunPluginResponse{
			Output: &pulumirpc.RunPluginResponse_Exitcode{Exitcode: int32(code)},
		})
	}
	return closer.Close()
}

// packCommand returns the command of a policy pack: it runs in the pack's folder, with the engine's address first and
// the folder last.
func packCommand(ctx context.Context, req *pulumirpc.RunPluginRequest) (*exec.Cmd, error) {
	tools, err := toolchainOf(req.GetInfo(), program)
	if err != nil {
		return nil, err
	}
	folder := req.GetInfo().GetProgramDirectory()
	args := append([]string{"-u", "-m", "pulumi.policy"}, req.GetArgs()...)
	cmd, err := tools.Command(ctx, append(args, folder)...)
	if err != nil {
		return nil, err
	}
	stoppable(cmd)
	cmd.Dir = folder
	return cmd, nil
}

// packEnvironment returns a pack's variables with those of the stack it will judge; stack is nil when there is none.
func packEnvironment(cmd *exec.Cmd, stack *pulumirpc.AnalyzerStackConfigureRequest) ([]string, error) {
	env := environment(cmd)
	if stack == nil {
		return env, nil
	}
	config, err := configJSON(stack.GetConfig())
	if err != nil {
		return nil, err
	}
	return append(env,
		"PULUMI_ORGANIZATION="+stack.GetOrganization(),
		"PULUMI_PROJECT="+stack.GetProject(),
		"PULUMI_STACK="+stack.GetStack(),
		"PULUMI_DRY_RUN="+strconv.FormatBool(stack.GetDryRun()),
		"PULUMI_CONFIG="+config,
	), nil
}

// pluginCommand returns the command of any other plugin: its folder when that has a __main__.py, else, when the folder
// is a Python project, the package of that project by name.
func pluginCommand(ctx context.Context, req *pulumirpc.RunPluginRequest) (*exec.Cmd, error) {
	tools, err := toolchainOf(req.GetInfo(), plugin)
	if err != nil {
		return nil, err
	}
	root := req.GetInfo().GetRootDirectory()
	_, err = os.Stat(filepath.Join(root, "__main__.py"))
	byName := false
	if errors.Is(err, fs.ErrNotExist) {
		if byName, err = toolchain.IsBuildablePackage(root); err != nil {
			return nil, err
		}
	}
	var cmd *exec.Cmd
	if byName {
		project, loadErr := toolchain.LoadPyproject(root)
		if loadErr != nil {
			return nil, loadErr
		}
		args := append([]string{project.Project.Name}, req.GetArgs()...)
		cmd, err = tools.ModuleCommand(ctx, "pulumi.run.plugin", args...)
	} else {
		cmd, err = tools.Command(ctx, append([]string{req.GetInfo().GetProgramDirectory()}, req.GetArgs()...)...)
	}
	if err != nil {
		return nil, err
	}
	stoppable(cmd)
	cmd.Dir = req.GetPwd()
	return cmd, nil
}
