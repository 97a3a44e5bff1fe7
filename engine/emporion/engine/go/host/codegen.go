package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/pkg/v3/codegen/python"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	commonplugin "github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// GeneratePackage writes a Python SDK for a provider's schema (`pulumi package add`, `pulumi package gen-sdk`).
func (h *host) GeneratePackage(
	_ context.Context, req *pulumirpc.GeneratePackageRequest,
) (*pulumirpc.GeneratePackageResponse, error) {
	client, err := schema.NewLoaderClient(req.GetLoaderTarget())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	loader := schema.NewCachedLoader(client)
	var spec schema.PackageSpec
	if err := json.Unmarshal([]byte(req.GetSchema()), &spec); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	pkg, diagnostics, err := schema.BindSpec(spec, loader, schema.ValidationOptions{AllowDanglingReferences: true})
	if err != nil {
		return nil, err
	}
	answer := &pulumirpc.GeneratePackageResponse{Diagnostics: commonplugin.HclDiagnosticsToRPCDiagnostics(diagnostics)}
	if diagnostics.HasErrors() {
		return answer, nil
	}
	files, err := python.GeneratePackage("pulumi-language-python", pkg, req.GetExtraFiles(), loader)
	if err != nil {
		return nil, err
	}
	return answer, writeFiles(req.GetDirectory(), files)
}

// writeFiles writes files named by slash-separated paths below folder.
func writeFiles(folder string, files map[string][]byte) error {
	for name, data := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Link adds generated SDKs to the program's requirements and says how to import them.
func (h *host) Link(ctx context.Context, req *pulumirpc.LinkRequest) (*pulumirpc.LinkResponse, error) {
	tools, err := toolchainOf(req.GetInfo(), program)
	if err != nil {
		return nil, err
	}
	client, err := schema.NewLoaderClient(req.GetLoaderTarget())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	loader := schema.NewCachedLoader(client)
	paths := map[string]string{}
	var imports strings.Builder
	for _, dependency := range req.GetPackages() {
		wanted, err := descriptor(dependency.GetPackage())
		if err != nil {
			return nil, err
		}
		pkg, err := schema.LoadPackageReferenceV2(ctx, loader, wanted)
		if err != nil {
			return nil, err
		}
		module := python.PyPack(pkg.Namespace(), pkg.Name())
		paths[module] = dependency.GetPath()
		fmt.Fprintf(&imports, "  import %s\n", module)
	}
	if err := tools.LinkPackages(ctx, paths); err != nil {
		return nil, err
	}
	return &pulumirpc.LinkResponse{ImportInstructions: imports.String()}, nil
}

// descriptor says which schema belongs to a package. A package may come without a version; a parameterized one may not.
func descriptor(pkg *pulumirpc.PackageDependency) (*schema.PackageDescriptor, error) {
	wanted := &schema.PackageDescriptor{Name: pkg.GetName(), DownloadURL: pkg.GetServer()}
	if text := pkg.GetVersion(); text != "" {
		version, err := semver.ParseTolerant(text)
		if err != nil {
			return nil, fmt.Errorf("version %q of package %s: %w", text, pkg.GetName(), err)
		}
		wanted.Version = &version
	}
	if p := pkg.GetParameterization(); p != nil {
		version, err := semver.ParseTolerant(p.GetVersion())
		if err != nil {
			return nil, fmt.Errorf("version %q of package %s: %w", p.GetVersion(), p.GetName(), err)
		}
		wanted.Parameterization = &schema.ParameterizationDescriptor{
			Name: p.GetName(), Version: version, Value: p.GetValue(),
		}
	}
	return wanted, nil
}
