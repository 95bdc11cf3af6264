package main

import (
	"context"
	"strings"
	"testing"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
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
		"stdin":           {properties{"create": "cat", "stdin": "line\nno newline"}, "line\nno newline"},
		"no stdin":        {properties{"create": "cat"}, ""},
		"unread stdin":    {properties{"create": "true", "stdin": strings.Repeat("x", 1<<20)}, ""},
		"environment":     {properties{"create": `echo "$A"`, "environment": properties{"A": "b c"}}, "b c"},
		"dir":             {properties{"create": "pwd", "dir": dir}, dir},
		"interpreter":     {properties{"create": "$0 is text", "interpreter": []any{"/bin/echo", "-n"}}, "$0 is text"},
		"nothing to do":   {properties{}, ""},
		"no invalid text": {properties{"create": `printf '\377'`}, "\uFFFD"},
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
	olds := properties{"create": "a", "triggers": []any{"1"}, "version": "1.2.0"}
	cases := map[string]struct {
		news    properties
		ignored []string
		want    map[string]plugin.DiffKind
	}{
		"nothing":         {properties{"create": "a", "triggers": []any{"1"}}, nil, nil},
		"create":          {properties{"create": "b", "triggers": []any{"1"}}, nil, map[string]plugin.DiffKind{"create": plugin.DiffUpdate}},
		"ignored":         {properties{"create": "b", "triggers": []any{"1"}}, []string{"create"}, nil},
		"trigger":         {properties{"create": "a", "triggers": []any{"2"}}, nil, map[string]plugin.DiffKind{"triggers[0]": plugin.DiffUpdateReplace}},
		"another trigger": {properties{"create": "a", "triggers": []any{"1", "2"}}, nil, map[string]plugin.DiffKind{"triggers[1]": plugin.DiffAddReplace}},
		"no triggers":     {properties{"create": "a"}, nil, map[string]plugin.DiffKind{"triggers": plugin.DiffDeleteReplace}},
		"stdin":           {properties{"create": "a", "triggers": []any{"1"}, "stdin": "x"}, nil, map[string]plugin.DiffKind{"stdin": plugin.DiffAdd}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			provider, _ := newTestProvider()
			diff, err := provider.Diff(t.Context(), plugin.DiffRequest{
				URN: urn, OldInputs: propertyMap(olds), NewInputs: propertyMap(c.news), IgnoreChanges: c.ignored,
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(diff.DetailedDiff) != len(c.want) || (diff.Changes == plugin.DiffSome) != (len(c.want) > 0) {
				t.Fatalf("got %v", diff)
			}
			for path, kind := range c.want {
				if diff.DetailedDiff[path].Kind != kind {
					t.Errorf("%s: got %v, want %v", path, diff.DetailedDiff[path].Kind, kind)
				}
			}
		})
	}
}

func TestASecretInputMakesTheOutputsSecret(t *testing.T) {
	inputs := propertyMap(properties{"create": `echo "$TOKEN"`})
	inputs["environment"] = resource.NewProperty(resource.PropertyMap{
		"TOKEN": resource.MakeSecret(resource.NewProperty("hush")),
	})
	provider, _ := newTestProvider()
	created, err := provider.Create(t.Context(), plugin.CreateRequest{URN: urn, Properties: inputs})
	if err != nil {
		t.Fatal(err)
	}
	stdout := created.Properties["stdout"]
	if !stdout.IsSecret() || text(stdout) != "hush" || !created.Properties["stderr"].IsSecret() {
		t.Errorf("stdout is %v", stdout)
	}
	if !created.Properties["environment"].DeepEquals(inputs["environment"]) {
		t.Error("the input itself is secret no more")
	}
	updated, err := provider.Update(t.Context(), plugin.UpdateRequest{
		URN: urn, NewInputs: propertyMap(properties{"create": `echo "$PULUMI_COMMAND_STDOUT"`}), OldOutputs: created.Properties,
	})
	if err != nil || text(updated.Properties["stdout"]) != "hush" {
		t.Errorf("a secret previous output is not passed on: %v, %v", updated.Properties, err)
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
