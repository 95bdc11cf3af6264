package main

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

const urn = resource.URN("urn:pulumi:dev::project::command:local:Command::gate")

type properties = map[string]any

func propertyMap(p properties) resource.PropertyMap { return resource.NewPropertyMapFromMap(p) }

// newTestProvider logs into the returned channel.
func newTestProvider() (*provider, chan string) {
	lines := make(chan string, 1000)
	return newProvider(semver.MustParse("1.2.1"), func(_ context.Context, _ resource.URN, line string) {
		lines <- line
	}), lines
}

func create(t *testing.T, p properties) plugin.CreateResponse {
	t.Helper()
	provider, _ := newTestProvider()
	response, err := provider.Create(t.Context(), plugin.CreateRequest{URN: urn, Properties: propertyMap(p)})
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func stdoutOf(t *testing.T, p properties) string {
	t.Helper()
	return create(t, p).Properties["stdout"].StringValue()
}

func TestCreateRunsTheCommandAndKeepsTheInputs(t *testing.T) {
	response := create(t, properties{"create": "echo out; echo err >&2", "triggers": []any{"a", 1.0}})
	want := propertyMap(properties{
		"create": "echo out; echo err >&2", "triggers": []any{"a", 1.0}, "stdout": "out", "stderr": "err",
	})
	if !response.Properties.DeepEquals(want) {
		t.Errorf("got %v", response.Properties)
	}
	if !strings.HasPrefix(string(response.ID), "gate") || len(response.ID) != len("gate")+8 {
		t.Errorf("id is %q, want the name and 8 hexadecimal digits", response.ID)
	}
}

func TestOnlyTheLastNewlineIsRemoved(t *testing.T) {
	if got := stdoutOf(t, properties{"create": `printf 'a\n\n'`}); got != "a\n" {
		t.Errorf("got %q", got)
	}
}

func TestStdinEnvironmentDirAndInterpreter(t *testing.T) {
	dir := t.TempDir()
	cases := map[string]struct {
		inputs properties
		want   string
	}{
		"stdin":         {properties{"create": "cat", "stdin": "line\nno newline"}, "line\nno newline"},
		"no stdin":      {properties{"create": "cat"}, ""},
		"unread stdin":  {properties{"create": "true", "stdin": strings.Repeat("x", 1<<20)}, ""},
		"environment":   {properties{"create": `echo "$A"`, "environment": properties{"A": "b c"}}, "b c"},
		"dir":           {properties{"create": "pwd", "dir": dir}, dir},
		"interpreter":   {properties{"create": "$0 is text", "interpreter": []any{"/bin/echo", "-n"}}, "$0 is text"},
		"nothing to do": {properties{}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := stdoutOf(t, c.inputs); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestPreviewRunsNothingAndKnowsNoOutput(t *testing.T) {
	provider, _ := newTestProvider()
	inputs := propertyMap(properties{"create": "exit 1"})
	created, err := provider.Create(t.Context(), plugin.CreateRequest{URN: urn, Properties: inputs, Preview: true})
	if err != nil {
		t.Fatal(err)
	}
	updated, err := provider.Update(t.Context(), plugin.UpdateRequest{
		URN: urn, NewInputs: inputs, OldOutputs: propertyMap(properties{"stdout": "old"}), Preview: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []resource.PropertyMap{created.Properties, updated.Properties} {
		if !state["stdout"].IsComputed() || !state["stderr"].IsComputed() {
			t.Errorf("got %v", state)
		}
	}
}

func TestUpdateRunsUpdateElseCreateAndSeesThePreviousOutput(t *testing.T) {
	cases := map[string]struct {
		inputs properties
		want   string
	}{
		"update":        {properties{"create": "exit 1", "update": `echo "u $PULUMI_COMMAND_STDOUT"`}, "u out"},
		"create":        {properties{"create": `echo "c $PULUMI_COMMAND_STDERR"`}, "c err"},
		"not asked for": {properties{"create": `echo "${PULUMI_COMMAND_STDOUT-unset}"`, "addPreviousOutputInEnv": false}, "unset"},
		"neither":       {properties{"delete": "true"}, "out"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			provider, _ := newTestProvider()
			response, err := provider.Update(t.Context(), plugin.UpdateRequest{
				URN: urn, NewInputs: propertyMap(c.inputs),
				OldOutputs: propertyMap(properties{"stdout": "out", "stderr": "err"}),
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := response.Properties["stdout"].StringValue(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestDeleteRunsFromTheState(t *testing.T) {
	dir := t.TempDir()
	provider, _ := newTestProvider()
	state := propertyMap(properties{
		"create": "exit 1", "delete": `test "$PULUMI_COMMAND_STDOUT$(cat)" = madeinput`,
		"dir": dir, "stdin": "input", "stdout": "made", "stderr": "",
	})
	if _, err := provider.Delete(t.Context(), plugin.DeleteRequest{URN: urn, Outputs: state}); err != nil {
		t.Error(err)
	}
	state["stdout"] = resource.NewProperty("another")
	if _, err := provider.Delete(t.Context(), plugin.DeleteRequest{URN: urn, Outputs: state}); err == nil {
		t.Error("the delete command failed, its error is lost")
	}
	delete(state, "delete")
	if _, err := provider.Delete(t.Context(), plugin.DeleteRequest{URN: urn, Outputs: state}); err != nil {
		t.Error(err)
	}
}

func TestDiff(t *testing.T) {
	olds := properties{"create": "a", "triggers": []any{"1"}, "environment": properties{"A": "1", "b.c": "1"}}
	with := func(changes properties) properties {
		news := maps.Clone(olds)
		maps.Copy(news, changes)
		return news
	}
	noTriggers := with(nil)
	delete(noTriggers, "triggers")
	type kinds = map[string]pulumirpc.PropertyDiff_Kind
	cases := map[string]struct {
		news     properties
		ignored  []string
		want     kinds
		diffs    string
		replaces string
	}{
		"nothing": {news: with(properties{"version": "1.2.1", "__internal": "x"})},
		"ignored": {news: with(properties{"create": "b"}), ignored: []string{"create"}},
		"create":  {with(properties{"create": "b"}), nil, kinds{"create": pulumirpc.PropertyDiff_UPDATE}, "create", ""},
		"stdin":   {with(properties{"stdin": "x"}), nil, kinds{"stdin": pulumirpc.PropertyDiff_ADD}, "stdin", ""},
		"variables": {
			with(properties{"environment": properties{"A": "2", "b.c": "2"}}), nil,
			kinds{"environment.A": pulumirpc.PropertyDiff_UPDATE, `environment["b.c"]`: pulumirpc.PropertyDiff_UPDATE},
			"environment", "",
		},
		"trigger": {
			with(properties{"triggers": []any{"2"}}), nil,
			kinds{"triggers[0]": pulumirpc.PropertyDiff_UPDATE}, "triggers", "",
		},
		"another trigger": {
			with(properties{"triggers": []any{"1", "2"}}), nil,
			kinds{"triggers[1]": pulumirpc.PropertyDiff_ADD}, "triggers", "",
		},
		"no triggers": {
			noTriggers, nil, kinds{"triggers": pulumirpc.PropertyDiff_DELETE_REPLACE}, "triggers", "triggers",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			provider, _ := newTestProvider()
			diff, err := newServer(provider).Diff(t.Context(), diffRequest(t, olds, c.news, c.ignored))
			if err != nil {
				t.Fatal(err)
			}
			got := kinds{}
			for path, detail := range diff.DetailedDiff {
				got[path] = detail.Kind
				if detail.InputDiff {
					t.Errorf("%s is shown from inputs", path)
				}
			}
			if !maps.Equal(got, c.want) || !diff.HasDetailedDiff {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if (diff.Changes == pulumirpc.DiffResponse_DIFF_SOME) != (len(c.want) > 0) {
				t.Errorf("changes: %v", diff.Changes)
			}
			if strings.Join(diff.Diffs, " ") != c.diffs || strings.Join(diff.Replaces, " ") != c.replaces {
				t.Errorf("diffs %q, replaces %q", diff.Diffs, diff.Replaces)
			}
		})
	}
}

func diffRequest(t *testing.T, olds, news properties, ignored []string) *pulumirpc.DiffRequest {
	t.Helper()
	old, err := plugin.MarshalProperties(propertyMap(olds), plugin.MarshalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now, err := plugin.MarshalProperties(propertyMap(news), plugin.MarshalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &pulumirpc.DiffRequest{Urn: string(urn), OldInputs: old, News: now, IgnoreChanges: ignored}
}

func TestASecretInputStaysSecretAndTheOutputsArePlain(t *testing.T) {
	inputs := propertyMap(properties{"create": `echo "$TOKEN"; echo err >&2`})
	inputs["environment"] = resource.NewProperty(resource.PropertyMap{
		"TOKEN": resource.MakeSecret(resource.NewProperty("hush")),
	})
	provider, _ := newTestProvider()
	created, err := provider.Create(t.Context(), plugin.CreateRequest{URN: urn, Properties: inputs})
	if err != nil {
		t.Fatal(err)
	}
	plain := propertyMap(properties{"stdout": "hush", "stderr": "err"})
	for key, want := range plain {
		if got := created.Properties[key]; !got.DeepEquals(want) {
			t.Errorf("%s is %v", key, got)
		}
	}
	if !created.Properties["environment"].DeepEquals(inputs["environment"]) {
		t.Error("the input itself is secret no more")
	}
	// As a state written by an older stand-in, or by the option additionalSecretOutputs.
	created.Properties["stdout"] = resource.MakeSecret(created.Properties["stdout"])
	updated, err := provider.Update(t.Context(), plugin.UpdateRequest{
		URN: urn, OldOutputs: created.Properties,
		NewInputs: propertyMap(properties{"create": `echo "$PULUMI_COMMAND_STDOUT"`}),
	})
	if err != nil || !updated.Properties["stdout"].DeepEquals(plain["stdout"]) {
		t.Errorf("a secret previous output is not passed on: %v, %v", updated.Properties, err)
	}
}

func TestOutputThatIsNotUTF8IsNotMended(t *testing.T) {
	// What fails is the answer to the engine, which tests/tools sees.
	if got := stdoutOf(t, properties{"create": `printf '\377'`}); got != "\377" {
		t.Errorf("got %q", got)
	}
}

func TestCheck(t *testing.T) {
	cases := map[string]struct {
		inputs properties
		reason string
	}{
		"good":          {properties{"create": "true", "logging": "none", "interpreter": []any{"sh", "-c"}}, ""},
		"asset paths":   {properties{"assetPaths": []any{"*"}}, "stand-in"},
		"archive paths": {properties{"archivePaths": []any{"*"}}, "stand-in"},
		"wrong type":    {properties{"create": 1.0}, "create"},
		"unknown name":  {properties{"creates": "true"}, "creates"},
		"wrong logging": {properties{"logging": "all"}, "stdoutAndStderr"},
		"value unknown": {properties{"create": resource.Computed{Element: resource.NewProperty("")}}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			provider, _ := newTestProvider()
			response, err := provider.Check(t.Context(), plugin.CheckRequest{Type: token, News: propertyMap(c.inputs)})
			if err != nil {
				t.Fatal(err)
			}
			reasons := ""
			for _, failure := range response.Failures {
				reasons += failure.Reason
			}
			if (c.reason == "") != (reasons == "") || !strings.Contains(reasons, c.reason) {
				t.Errorf("got %q, want %q", reasons, c.reason)
			}
		})
	}
}

func TestOtherTypesAndFunctionsAreRefusedByName(t *testing.T) {
	provider, _ := newTestProvider()
	_, err := provider.Check(t.Context(), plugin.CheckRequest{Type: "command:remote:Command"})
	if err == nil || !strings.Contains(err.Error(), "stand-in") || !strings.Contains(err.Error(), "remote") {
		t.Errorf("got %v", err)
	}
	_, err = provider.Invoke(t.Context(), plugin.InvokeRequest{Tok: "command:local:run"})
	if err == nil || !strings.Contains(err.Error(), "stand-in") {
		t.Errorf("got %v", err)
	}
}

func TestReadReturnsTheState(t *testing.T) {
	provider, _ := newTestProvider()
	state := propertyMap(properties{"create": "true", "stdout": "x"})
	response, err := provider.Read(t.Context(), plugin.ReadRequest{ID: "gate1", State: state})
	if err != nil || !response.Outputs.DeepEquals(state) || response.ID != "gate1" {
		t.Errorf("got %v, %v", response, err)
	}
}
