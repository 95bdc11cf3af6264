// Command pulumi-resource-command is a stand-in for the pulumi-command provider plugin.
//
// It knows one resource, command:local:Command, and is meant for places that cannot download the official plugin.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	sdk "github.com/pulumi/pulumi/sdk/v3/go/pulumi/provider"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// version is set by the linker: the version of the Pulumi package that this plugin stands for.
var version = "0.0.0-dev"

func main() {
	err := sdk.Main("command", func(host *sdk.HostClient) (pulumirpc.ResourceProviderServer, error) {
		parsed, err := semver.Parse(version)
		if err != nil {
			return nil, fmt.Errorf("version of the plugin: %w", err)
		}
		return newServer(newProvider(parsed, engineLog(host))), nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// engineLog shows lines next to their resource while it is worked on, as status messages like the official plugin's.
func engineLog(host *sdk.HostClient) logFunc {
	return func(ctx context.Context, urn resource.URN, line string) {
		// A line that cannot be shown (the engine is going away) is no reason to stop the command.
		_ = host.LogStatus(ctx, diag.Info, urn, line)
	}
}
