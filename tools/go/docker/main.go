// Command pulumi-resource-docker is the Docker provider plugin, for places that cannot download the official one.
//
// It bridges the same upstream Terraform provider as the official plugin of this version, with the same tokens.
package main

import (
	"context"

	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge/tokens"
	shimv2 "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfshim/sdk-v2"
	"github.com/terraform-providers/terraform-provider-docker/internal/provider"
)

// version is set by the linker: the version of the Pulumi package that this plugin stands for.
var version = "0.0.0-dev"

// schema is the least a bridged plugin may answer with: the Python SDK of the package does not ask for more.
const schema = `{"name":"docker"}`

// bridge maps the Terraform names to the package's, where they do not follow from the bridge's own rules.
func bridge() tfbridge.ProviderInfo {
	info := tfbridge.ProviderInfo{
		P:       shimv2.NewProvider(provider.New(version)()),
		Name:    "docker",
		Version: version,
		Config: map[string]*tfbridge.SchemaInfo{
			"host":          {Default: &tfbridge.DefaultInfo{EnvVars: []string{"DOCKER_HOST"}, ComputeDefault: localSocket}},
			"registry_auth": {Name: "registryAuth", MaxItemsOne: tfbridge.False()},
		},
		Resources: map[string]*tfbridge.ResourceInfo{
			"docker_container": {
				Tok:                 "docker:index/container:Container",
				DeleteBeforeReplace: true,
				Fields: map[string]*tfbridge.SchemaInfo{
					"command":           {Name: "command"},
					"networks_advanced": {Name: "networksAdvanced"},
				},
			},
			"docker_image": {
				Tok:    "docker:index/remoteImage:RemoteImage",
				Fields: map[string]*tfbridge.SchemaInfo{"name": {Name: "name"}},
			},
			"docker_config": {Tok: "docker:index/serviceConfig:ServiceConfig"},
		},
		DataSources: map[string]*tfbridge.DataSourceInfo{
			"docker_image": {Tok: "docker:index/getRemoteImage:getRemoteImage"},
		},
	}
	info.MustComputeTokens(tokens.SingleModule("docker_", "index", tokens.MakeStandard("docker")))
	info.SetAutonaming(255, "-")
	return info
}

func localSocket(context.Context, tfbridge.ComputeDefaultOptions) (any, error) {
	return "unix:///var/run/docker.sock", nil
}

func main() {
	tfbridge.Main("docker", version, bridge(), []byte(schema))
}
