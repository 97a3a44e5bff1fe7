package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	commonplugin "github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/types/known/structpb"
)

func TestConfigurationOfAStackWithoutAnyIsAnEmptyObject(t *testing.T) {
	for want, config := range map[string]map[string]string{`{}`: nil, `{"a:b":"c"}`: {"a:b": "c"}} {
		if got, err := configJSON(config); err != nil || got != want {
			t.Errorf("configJSON(%v) = %q, %v; want %q", config, got, err, want)
		}
	}
	for want, keys := range map[string][]string{`[]`: nil, `["a:b"]`: {"a:b"}} {
		if got, err := keysJSON(keys); err != nil || got != want {
			t.Errorf("keysJSON(%v) = %q, %v; want %q", keys, got, err, want)
		}
	}
}

func TestTheRunnerGetsTheFlagsThatHaveAValue(t *testing.T) {
	h := &host{runner: "/bin/runner", engine: "127.0.0.1:1"}
	got := h.arguments(&pulumirpc.RunRequest{
		MonitorAddress: "127.0.0.1:2", Project: "shop", Stack: "dev", Pwd: "/shop", DryRun: false, Parallel: 16,
		Organization: "organization", Args: []string{"more"},
		Info: &pulumirpc.ProgramInfo{RootDirectory: "/shop", EntryPoint: "."},
	})
	want := strings.Fields("/bin/runner --monitor 127.0.0.1:2 --engine 127.0.0.1:1 --project shop --root_directory /shop " +
		"--stack dev --pwd /shop --dry_run false --parallel 16 --organization organization . more")
	if !reflect.DeepEqual(got, want) {
		t.Errorf("arguments:\n got %q\nwant %q", got, want)
	}
}

func TestAnUnknownToolchainIsRefused(t *testing.T) {
	given, err := structpb.NewStruct(map[string]any{"toolchain": "conda"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = toolchainOf(&pulumirpc.ProgramInfo{Options: given}, program)
	if err == nil || !strings.Contains(err.Error(), `"conda"; allowed are pip, poetry and uv`) {
		t.Errorf("error: %v", err)
	}
}

func TestOnlyAPluginGetsAnEnvironmentOfItsOwn(t *testing.T) {
	folder := t.TempDir()
	info := &pulumirpc.ProgramInfo{RootDirectory: folder, ProgramDirectory: folder}
	if purposeOf(info) != program {
		t.Error("a folder without PulumiPlugin.yaml is a program")
	}
	if err := os.WriteFile(filepath.Join(folder, "PulumiPlugin.yaml"), []byte("runtime: python\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if purposeOf(info) != plugin {
		t.Error("a folder with PulumiPlugin.yaml is a plugin")
	}
	for use, want := range map[purpose]string{program: "", plugin: filepath.Join(folder, "venv")} {
		tools, err := toolchainOf(info, use)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := tools.VirtualEnvPath(context.Background()); err != nil || got != want {
			t.Errorf("environment of %v: %q, %v; want %q", use, got, err, want)
		}
	}
}

func TestAPackageIsNamedByItsDescriptionElseByItsModule(t *testing.T) {
	for _, c := range []struct {
		found         found
		name, version string
	}{
		{found{Module: "pulumi_azure_native", Version: "3.29.0"}, "azure-native", "v3.29.0"},
		{found{Module: "other", Version: "v1.0.0", Plugin: commonplugin.PulumiPluginJSON{Name: "own"}}, "own", "v1.0.0"},
		{found{Module: "pulumi_aws"}, "aws", ""},
	} {
		got := c.found.dependency()
		if got.GetName() != c.name || got.GetVersion() != c.version {
			t.Errorf("%+v: %s %s", c.found, got.GetName(), got.GetVersion())
		}
	}
}

func TestAParameterizedPackageNeedsAReadableVersion(t *testing.T) {
	wanted, err := descriptor(&pulumirpc.PackageDependency{Name: "aws", Version: "v7.51.1"})
	if err != nil || wanted.Version.String() != "7.51.1" {
		t.Errorf("descriptor: %v, %v", wanted, err)
	}
	_, err = descriptor(&pulumirpc.PackageDependency{
		Name: "terraform-provider", Parameterization: &pulumirpc.PackageParameterization{Name: "random", Version: "new"},
	})
	if err == nil || !strings.Contains(err.Error(), `version "new" of package random`) {
		t.Errorf("error: %v", err)
	}
}

func TestExitCodesAreToldFromFailuresToStart(t *testing.T) {
	if code, ok := exitCode(exec.Command("sh", "-c", "exit 32").Run()); !ok || code != bailCode {
		t.Errorf("exit 32: %d, %v", code, ok)
	}
	if _, ok := exitCode(exec.Command("/does/not/exist").Run()); ok {
		t.Error("a program that does not exist has no exit code")
	}
	_, err := exec.Command("sh", "-c", "echo no such module >&2; exit 1").Output()
	if said := explained(err, "listing").Error(); !strings.Contains(said, "listing") || !strings.Contains(said, "no such module") {
		t.Errorf("explained: %s", said)
	}
}

func TestAStoppedProgramIsInterruptedFirst(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	both, done := either(context.Background(), ctx)
	defer done()
	cmd := exec.CommandContext(both, "sh", "-c", "trap 'exit 7' INT; echo ready; while :; do sleep 0.05; done")
	stoppable(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	cancel()
	if code, _ := exitCode(cmd.Wait()); code != 7 || time.Since(started) > grace {
		t.Errorf("exit %d after %s", code, time.Since(started))
	}
}

func TestGeneratedFilesLieWhereTheirNamesSay(t *testing.T) {
	folder := t.TempDir()
	if err := writeFiles(folder, map[string][]byte{"a/b.py": []byte("x = 1\n")}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(folder, "a", "b.py")); err != nil || string(data) != "x = 1\n" {
		t.Errorf("a/b.py: %q, %v", data, err)
	}
}
