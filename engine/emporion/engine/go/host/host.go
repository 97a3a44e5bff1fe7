package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/types/known/emptypb"
)

// healthInterval is how often the host asks whether the engine still lives.
const healthInterval = 5 * time.Second

// host answers the engine. What it does not implement answers "unimplemented", as gRPC has it.
type host struct {
	pulumirpc.UnimplementedLanguageRuntimeServer

	runner  string          // path of the script that runs a program
	engine  string          // address of the engine; set before the first request that needs it
	tracing string          // tracing endpoint, usually empty
	ctx     context.Context // ends when the host has to leave
	stop    context.CancelFunc
}

// leaveWithEngine ends the host, and the Python it runs, when the engine no longer answers: a killed engine must not
// leave processes behind.
func (h *host) leaveWithEngine() error {
	return rpcutil.Healthcheck(h.ctx, h.engine, healthInterval, h.stop)
}

// Handshake learns the engine's address.
func (h *host) Handshake(
	_ context.Context, req *pulumirpc.LanguageHandshakeRequest,
) (*pulumirpc.LanguageHandshakeResponse, error) {
	if h.engine != "" { // given on the command line, watched since
		return &pulumirpc.LanguageHandshakeResponse{}, nil
	}
	h.engine = req.GetEngineAddress()
	if err := h.leaveWithEngine(); err != nil {
		return nil, err
	}
	return &pulumirpc.LanguageHandshakeResponse{}, nil
}

// GetPluginInfo names the release of Pulumi that this host speaks for.
func (h *host) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: sdk.Version.String()}, nil
}

// Cancel ends what is running: each Python gets an interrupt, and is killed when it does not leave (grace).
func (h *host) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	h.stop()
	return &emptypb.Empty{}, nil
}

// About names the interpreter and its version. The engine asks on every command, so it is one short call; asking the
// installer for its version too, as the toolchain's own About does, costs more than a second.
func (h *host) About(ctx context.Context, req *pulumirpc.AboutRequest) (*pulumirpc.AboutResponse, error) {
	tools, err := toolchainOf(req.GetInfo(), program)
	if err != nil {
		return nil, err
	}
	cmd, err := tools.Command(ctx, "-Ic", "import sys; print(sys.executable, *sys.version_info[:3], sep='\\n')")
	if err != nil {
		return nil, err
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, explained(err, "asking Python for its version")
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 4 {
		return nil, fmt.Errorf("asking Python for its version: unexpected answer %q", out)
	}
	return &pulumirpc.AboutResponse{Executable: lines[0], Version: strings.Join(lines[1:], ".")}, nil
}

// RuntimeOptionsPrompts has nothing to ask in `pulumi new`.
func (h *host) RuntimeOptionsPrompts(
	context.Context, *pulumirpc.RuntimeOptionsRequest,
) (*pulumirpc.RuntimeOptionsResponse, error) {
	return &pulumirpc.RuntimeOptionsResponse{}, nil
}

// Template changes nothing in a new project.
func (h *host) Template(context.Context, *pulumirpc.TemplateRequest) (*pulumirpc.TemplateResponse, error) {
	return &pulumirpc.TemplateResponse{}, nil
}
