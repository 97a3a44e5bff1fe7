package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"

	commonplugin "github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
)

//go:embed find_plugins.py
var findPlugins string

// found is one line of what find_plugins.py prints.
type found struct {
	Module  string
	Version string
	Plugin  commonplugin.PulumiPluginJSON
}

// dependency returns what the engine has to have for an importable package.
func (f found) dependency() *pulumirpc.PackageDependency {
	name := f.Plugin.Name
	if name == "" { // pulumi_azure_native -> azure-native
		name = strings.TrimPrefix(strings.ReplaceAll(f.Module, "_", "-"), "pulumi-")
	}
	dependency := &pulumirpc.PackageDependency{
		Name:    name,
		Kind:    "resource",
		Version: "v" + strings.TrimPrefix(f.Version, "v"),
		Server:  f.Plugin.Server,
	}
	if f.Version == "" {
		dependency.Version = ""
	}
	if p := f.Plugin.Parameterization; p != nil {
		dependency.Parameterization = &pulumirpc.PackageParameterization{
			Name: p.Name, Version: p.Version, Value: p.Value,
		}
	}
	return dependency
}

// GetRequiredPackages lists the provider plugins of the SDKs in the program's environment.
func (h *host) GetRequiredPackages(
	ctx context.Context, req *pulumirpc.GetRequiredPackagesRequest,
) (*pulumirpc.GetRequiredPackagesResponse, error) {
	tools, err := toolchainOf(req.GetInfo(), purposeOf(req.GetInfo()))
	if err != nil {
		return nil, err
	}
	cmd, err := tools.Command(ctx, "-c", findPlugins)
	if err != nil {
		return nil, err
	}
	// `-c` puts the current folder on sys.path, where the runner puts the program's.
	cmd.Dir = req.GetInfo().GetProgramDirectory()
	out, err := cmd.Output()
	if err != nil {
		return nil, explained(err, "listing the provider packages")
	}
	var all []found
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, explained(err, "reading the list of provider packages")
	}
	answer := &pulumirpc.GetRequiredPackagesResponse{}
	for _, one := range all {
		if one.Plugin.Resource {
			answer.Packages = append(answer.Packages, one.dependency())
		}
	}
	return answer, nil
}

// GetProgramDependencies lists the Python packages of a program (`pulumi about`).
func (h *host) GetProgramDependencies(
	ctx context.Context, req *pulumirpc.GetProgramDependenciesRequest,
) (*pulumirpc.GetProgramDependenciesResponse, error) {
	tools, err := toolchainOf(req.GetInfo(), program)
	if err != nil {
		return nil, err
	}
	packages, err := tools.ListPackages(ctx, req.GetTransitiveDependencies())
	if err != nil {
		return nil, err
	}
	answer := &pulumirpc.GetProgramDependenciesResponse{}
	for _, p := range packages {
		answer.Dependencies = append(answer.Dependencies, &pulumirpc.DependencyInfo{Name: p.Name, Version: p.Version})
	}
	return answer, nil
}

// InstallDependencies installs what a program or plugin asks for, into the environment that its options name.
func (h *host) InstallDependencies(
	req *pulumirpc.InstallDependenciesRequest, stream grpc.ServerStreamingServer[pulumirpc.InstallDependenciesResponse],
) error {
	tools, err := toolchainOf(req.GetInfo(), purpose(req.GetIsPlugin()))
	if err != nil {
		return err
	}
	closer, stdout, stderr, err := rpcutil.MakeInstallDependenciesStreams(stream, req.GetIsTerminal())
	if err != nil {
		return err
	}
	defer closer.Close()
	folder := req.GetInfo().GetProgramDirectory()
	err = tools.InstallDependencies(stream.Context(), folder, req.GetUseLanguageVersionTools(), true, stdout, stderr)
	if err != nil {
		return err
	}
	return closer.Close()
}
