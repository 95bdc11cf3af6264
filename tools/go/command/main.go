// Command pulumi-resource-command is a stand-in for the pulumi-command provider plugin.
//
// It knows one resource, command:local:Command, and is meant for places that cannot download the official plugin.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/logging"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	sdk "github.com/pulumi/pulumi/sdk/v3/go/pulumi/provider"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
)

// version is set by the linker: the version of the Pulumi package that this plugin stands for.
var version = "0.0.0-dev"

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve answers the engine until a signal ends the program.
//
// The SDK's own Main (3.276.0) would wait for a running command at SIGINT, and end 5 minutes after its engine. The
// official plugin does neither: it is built with pulumi/pkg 3.224.0, resource/provider/main.go.
func serve() error {
	flag.String("tracing", "", "not used; the engine may give it")
	flag.Parse()
	logging.InitLogging(false, 0, false)
	parsed, err := semver.Parse(version)
	if err != nil {
		return fmt.Errorf("version of the plugin: %w", err)
	}
	if flag.NArg() != 1 {
		return errors.New("one argument is needed, the address of the engine; it is Pulumi that starts this program")
	}
	host, err := sdk.NewHostClient(flag.Arg(0))
	if err != nil {
		return fmt.Errorf("engine at %s: %w", flag.Arg(0), err)
	}
	handle, err := rpcutil.ServeWithOptions(rpcutil.ServeOptions{
		Init: func(s *grpc.Server) error {
			pulumirpc.RegisterResourceProviderServer(s, newServer(newProvider(parsed, engineLog(host))))
			return nil
		},
	})
	if err != nil {
		return err
	}
	fmt.Println(handle.Port) // where the engine looks for it
	return <-handle.Done
}

// engineLog shows lines next to their resource while it is worked on, as status messages like the official plugin's.
func engineLog(host *sdk.HostClient) logFunc {
	return func(ctx context.Context, urn resource.URN, line string) {
		// A line that cannot be shown (the engine is going away) is no reason to stop the command.
		_ = host.LogStatus(ctx, diag.Info, urn, line)
	}
}
