package main

import (
	"context"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// server sends a diff to the engine with all its details.
//
// The SDK's server (plugin.NewProviderServer, 3.276.0) does not say that there are any, so the engine drops them.
type server struct {
	pulumirpc.ResourceProviderServer
}

func newServer(p *provider) pulumirpc.ResourceProviderServer {
	return server{plugin.NewProviderServer(p)}
}

func (s server) Diff(ctx context.Context, r *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	response, err := s.ResourceProviderServer.Diff(ctx, r)
	if err != nil {
		return nil, err
	}
	response.HasDetailedDiff = true
	for _, path := range response.Replaces {
		// The SDK's server turns this kind, and no other, into one that replaces nothing.
		if detail := response.DetailedDiff[path]; detail != nil && detail.Kind == pulumirpc.PropertyDiff_DELETE {
			detail.Kind = pulumirpc.PropertyDiff_DELETE_REPLACE
		}
	}
	response.Diffs, response.Replaces = inputsIn(response.Diffs), inputsIn(response.Replaces)
	return response, nil
}

// inputsIn names each input once that one of the paths leads into.
func inputsIn(paths []string) []string {
	var names []string
	for _, path := range paths {
		name := path
		if parsed, err := resource.ParsePropertyPath(path); err == nil && len(parsed) > 0 {
			if first, isName := parsed[0].(string); isName {
				name = first
			}
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
