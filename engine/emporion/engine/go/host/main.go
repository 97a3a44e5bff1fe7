// Command pulumi-language-python is Emporion's Python language host: what the Pulumi engine starts to run Python
// programs, policy packs and plugins.
//
// The official host's Go module cannot be fetched through the Go module proxy, so where the official release cannot be
// downloaded this one is built, from the two modules that can: github.com/pulumi/pulumi/sdk/v3 and pkg/v3. It is kept
// small: the engine starts a host twice per command (docs/adr/0001-own-language-host.md).
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/pulumi/pulumi/sdk/v3"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
)

// runner is the Python script of Pulumi's release that runs a program; it lies beside the host.
const runner = "pulumi-language-python-exec"

func main() {
	tracing := flag.String("tracing", "", "tracing endpoint")
	version := flag.Bool("version", false, "print the version")
	for _, old := range []string{"root", "toolchain", "virtualenv", "typechecker"} {
		flag.String(old, "", "ignored: old engines pass it here, all engines pass it in each request")
	}
	flag.Parse()
	if *version {
		fmt.Println(sdk.Version)
		return
	}
	if err := serve(flag.Arg(0), *tracing); err != nil {
		fmt.Fprintln(os.Stderr, "pulumi-language-python:", err)
		os.Exit(1)
	}
}

// serve answers the engine on a port of its own, which it prints as its first line, until the engine is gone or a
// signal arrives. The engine's address may be empty: newer engines send it with Handshake.
func serve(engine, tracing string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	h := &host{
		runner:  filepath.Join(filepath.Dir(self), runner),
		engine:  engine,
		tracing: tracing,
		ctx:     ctx,
		stop:    stop,
	}
	if engine != "" {
		if err := h.leaveWithEngine(); err != nil {
			return err
		}
	}
	cancel := make(chan bool)
	go func() {
		<-ctx.Done()
		close(cancel)
	}()
	server, err := rpcutil.ServeWithOptions(rpcutil.ServeOptions{
		Cancel: cancel,
		Init: func(s *grpc.Server) error {
			pulumirpc.RegisterLanguageRuntimeServer(s, h)
			return nil
		},
	})
	if err != nil {
		return err
	}
	fmt.Println(server.Port)
	return <-server.Done
}
