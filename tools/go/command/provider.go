package main

import (
	"context"
	"fmt"
	"time"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
)

const (
	token   = tokens.Type("command:local:Command")
	standIn = "the stand-in for the pulumi-command plugin (tools/go/command)"
)

// provider answers the engine for command:local:Command; every operation ends with Cancel.
type provider struct {
	plugin.UnimplementedProvider
	version semver.Version
	log     logFunc
	root    context.Context
	cancel  context.CancelFunc
}

func newProvider(version semver.Version, log logFunc) *provider {
	root, cancel := context.WithCancel(context.Background())
	return &provider{version: version, log: log, root: root, cancel: cancel}
}

func (p *provider) GetPluginInfo(context.Context) (plugin.PluginInfo, error) {
	return plugin.PluginInfo{Version: &p.version}, nil
}

func (p *provider) CheckConfig(_ context.Context, r plugin.CheckConfigRequest) (plugin.CheckConfigResponse, error) {
	return plugin.CheckConfigResponse{Properties: r.News}, nil
}

func (p *provider) DiffConfig(context.Context, plugin.DiffConfigRequest) (plugin.DiffConfigResponse, error) {
	return plugin.DiffConfigResponse{Changes: plugin.DiffNone}, nil
}

func (p *provider) Configure(context.Context, plugin.ConfigureRequest) (plugin.ConfigureResponse, error) {
	return plugin.ConfigureResponse{}, nil
}

func (p *provider) SignalCancellation(context.Context) error {
	p.cancel()
	return nil
}

func (p *provider) Invoke(_ context.Context, r plugin.InvokeRequest) (plugin.InvokeResponse, error) {
	return plugin.InvokeResponse{}, fmt.Errorf("%s has no function %s", standIn, r.Tok)
}

func (p *provider) Check(_ context.Context, r plugin.CheckRequest) (plugin.CheckResponse, error) {
	if r.Type != token {
		return plugin.CheckResponse{}, fmt.Errorf("%s knows %s only, not %s", standIn, token, r.Type)
	}
	return plugin.CheckResponse{Properties: r.News, Failures: check(r.News)}, nil
}

// Diff compares old and new inputs. New or removed triggers replace the resource. A change within them is an update
// here: what makes it a replacement is an option that the SDK sets, as with the official plugin.
func (p *provider) Diff(_ context.Context, r plugin.DiffRequest) (plugin.DiffResult, error) {
	olds, news := r.OldInputs.Copy(), r.NewInputs.Copy()
	for _, properties := range []resource.PropertyMap{olds, news} {
		for key := range properties {
			if isInternal(key) {
				delete(properties, key)
			}
		}
	}
	for _, ignored := range r.IgnoreChanges {
		key := resource.PropertyKey(ignored)
		if old, had := olds[key]; had {
			news[key] = old
		}
	}
	changes := olds.Diff(news)
	if changes == nil || !changes.AnyChanges() {
		return plugin.DiffResult{Changes: plugin.DiffNone}, nil
	}
	details := plugin.NewDetailedDiffFromObjectDiff(changes, false)
	if change, changed := details["triggers"]; changed {
		change.Kind = change.Kind.AsReplace()
		details["triggers"] = change
	}
	return plugin.DiffResult{Changes: plugin.DiffSome, DetailedDiff: details}, nil
}

func (p *provider) Create(ctx context.Context, r plugin.CreateRequest) (plugin.CreateResponse, error) {
	id, err := resource.NewUniqueHex(r.URN.Name(), 8, 0)
	if err != nil {
		return plugin.CreateResponse{}, err
	}
	properties, err := p.apply(ctx, operation{
		urn: r.URN, timeout: r.Timeout, preview: r.Preview, inputs: r.Properties,
		pick: func(in inputs) *string { return in.Create },
	})
	return plugin.CreateResponse{ID: resource.ID(id), Properties: properties}, err
}

func (p *provider) Update(ctx context.Context, r plugin.UpdateRequest) (plugin.UpdateResponse, error) {
	properties, err := p.apply(ctx, operation{
		urn: r.URN, timeout: r.Timeout, preview: r.Preview, inputs: r.NewInputs, previous: r.OldOutputs,
		pick: func(in inputs) *string {
			if in.Update != nil {
				return in.Update
			}
			return in.Create
		},
	})
	return plugin.UpdateResponse{Properties: properties}, err
}

func (p *provider) Delete(ctx context.Context, r plugin.DeleteRequest) (plugin.DeleteResponse, error) {
	in, err := inputsOf(r.Outputs)
	if err != nil || in.Delete == nil {
		return plugin.DeleteResponse{}, err
	}
	_, err = p.run(ctx, r.URN, r.Timeout, process{inputs: in, command: *in.Delete, previous: outputsOf(r.Outputs)})
	return plugin.DeleteResponse{}, err
}

// Read takes the state for the truth: a command that has run cannot drift.
func (p *provider) Read(_ context.Context, r plugin.ReadRequest) (plugin.ReadResponse, error) {
	return plugin.ReadResponse{
		ReadResult: plugin.ReadResult{ID: r.ID, Inputs: r.Inputs, Outputs: r.State},
	}, nil
}

// operation is what Create and Update have in common.
type operation struct {
	urn              resource.URN
	timeout          float64
	preview          bool
	inputs, previous resource.PropertyMap
	pick             func(inputs) *string
}

// apply runs the operation's command and returns the resource's new state.
func (p *provider) apply(ctx context.Context, o operation) (resource.PropertyMap, error) {
	if o.preview {
		unknown := resource.MakeComputed(resource.NewProperty(""))
		return withOutputs(o.inputs, unknown, unknown), nil
	}
	in, err := decode(o.inputs)
	if err != nil {
		return nil, err
	}
	result := outputsOf(o.previous)
	if command := o.pick(in); command != nil {
		result, err = p.run(ctx, o.urn, o.timeout, process{inputs: in, command: *command, previous: result})
		if err != nil {
			return nil, err
		}
	}
	return withOutputs(o.inputs, resource.NewProperty(result.stdout), resource.NewProperty(result.stderr)), nil
}

// run bounds a process by the request, by Cancel and by the resource's custom timeout (seconds, 0 for none).
func (p *provider) run(ctx context.Context, urn resource.URN, timeout float64, pr process) (outputs, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.root, cancel)()
	if p.root.Err() != nil {
		cancel() // at once: after Cancel no command starts
	}
	if timeout != 0 {
		var expire context.CancelFunc
		// Whole seconds, as the official plugin counts them (pulumi-go-provider 1.3.0, middleware/cancel).
		ctx, expire = context.WithTimeout(ctx, time.Duration(timeout)*time.Second)
		defer expire()
	}
	return pr.run(ctx, func(line string) { p.log(ctx, urn, line) })
}

func outputsOf(state resource.PropertyMap) outputs {
	return outputs{stdout: text(state["stdout"]), stderr: text(state["stderr"])}
}

// withOutputs adds the outputs to the inputs. They are not secret, even where an input is.
func withOutputs(in resource.PropertyMap, stdout, stderr resource.PropertyValue) resource.PropertyMap {
	state := in.Copy()
	state["stdout"], state["stderr"] = stdout, stderr
	return state
}
