package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
)

// inputs are the properties a program may set, as the SDK of pulumi-command 1.2.1 names them.
type inputs struct {
	Create                 *string           `json:"create"`
	Update                 *string           `json:"update"`
	Delete                 *string           `json:"delete"`
	Triggers               []any             `json:"triggers"`
	Stdin                  string            `json:"stdin"`
	Environment            map[string]string `json:"environment"`
	Dir                    string            `json:"dir"`
	Interpreter            []string          `json:"interpreter"`
	Logging                string            `json:"logging"`
	AddPreviousOutputInEnv *bool             `json:"addPreviousOutputInEnv"`
}

// unsupported are inputs of the official plugin that this stand-in refuses instead of leaving out their outputs.
var unsupported = []resource.PropertyKey{"assetPaths", "archivePaths"}

var loggings = []string{"", "stdout", "stderr", "stdoutAndStderr", "none"}

// decode reads the known inputs; secrets are opened, values that a preview does not know yet are left out.
func decode(properties resource.PropertyMap) (inputs, error) {
	known := resource.PropertyMap{}
	for key, value := range properties {
		if !isInternal(key) && !value.ContainsUnknowns() {
			known[key] = value
		}
	}
	encoded, err := json.Marshal(resource.NewProperty(known).MapRepl(nil, openSecret))
	if err != nil {
		return inputs{}, err
	}
	var decoded inputs
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.DisallowUnknownFields()
	return decoded, decoder.Decode(&decoded)
}

// inputsOf picks the inputs out of a resource's state, which holds the outputs as well.
func inputsOf(state resource.PropertyMap) (inputs, error) {
	rest := state.Copy()
	delete(rest, "stdout")
	delete(rest, "stderr")
	return decode(rest)
}

// check names everything that is wrong with the inputs, so that a preview already shows it.
func check(properties resource.PropertyMap) []plugin.CheckFailure {
	var failures []plugin.CheckFailure
	for _, key := range unsupported {
		if _, set := properties[key]; set {
			failures = append(failures, plugin.CheckFailure{Property: key, Reason: standIn + " does not support it"})
		}
	}
	if failures != nil {
		return failures
	}
	decoded, err := decode(properties)
	if err != nil {
		return []plugin.CheckFailure{{Reason: err.Error()}}
	}
	if !slices.Contains(loggings, decoded.Logging) {
		reason := fmt.Sprintf("%q is none of %s", decoded.Logging, strings.Join(loggings[1:], ", "))
		return []plugin.CheckFailure{{Property: "logging", Reason: reason}}
	}
	return nil
}

func isInternal(key resource.PropertyKey) bool {
	return key == "version" || strings.HasPrefix(string(key), "__")
}

func openSecret(value resource.PropertyValue) (any, bool) {
	switch {
	case value.IsSecret():
		return value.SecretValue().Element.MapRepl(nil, openSecret), true
	case value.IsOutput():
		return value.OutputValue().Element.MapRepl(nil, openSecret), true
	default:
		return nil, false
	}
}

// text is the string of an output, secret or not; absent is empty.
func text(value resource.PropertyValue) string {
	for value.IsSecret() {
		value = value.SecretValue().Element
	}
	if value.IsString() {
		return value.StringValue()
	}
	return ""
}
