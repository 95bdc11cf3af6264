package main

import "testing"

func TestTokensAndNamesOfTheOfficialPackage(t *testing.T) {
	info := bridge()
	tokens := map[string]string{
		"docker_container": "docker:index/container:Container",
		"docker_image":     "docker:index/remoteImage:RemoteImage",
		"docker_volume":    "docker:index/volume:Volume",
		"docker_network":   "docker:index/network:Network",
		"docker_config":    "docker:index/serviceConfig:ServiceConfig",
	}
	for name, want := range tokens {
		if got := info.Resources[name].Tok.String(); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if !info.Resources["docker_container"].DeleteBeforeReplace {
		t.Error("a container's fixed name is only free once the old one is gone")
	}
}
