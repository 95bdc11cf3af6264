"""What counts as a secret, and that it is never shown."""

import json

import pytest

from tandem.planner.masking import looks_secret, masked, names_secret
from tandem.planner.rules import check
from tests.builders import settings

SECRETS = [
    "hf_" + "aB3" * 11,
    "sk-proj-" + "x1_Y" * 8,
    "nvapi-" + "q7Z-" * 9,
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "a1B_" * 9,
    "glpat-" + "abcd" * 5,
    "xoxb-" + "12345-" * 4,
    "AKIA" + "ABCD1234" * 2,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
]
HARMLESS = [
    "/srv/models/hf_cache",
    "--hf-overrides",
    "task-force",
    "risk-free-decoding-mode",
    "Qwen/Qwen3-8B",
    "http://collector:4317/v1",
    "user@example.com",
    "sha256:" + "a" * 64,
]


@pytest.mark.parametrize("text", SECRETS)
@pytest.mark.parametrize("form", ["{}", "key={}", '{{"a":["{}"]}}', "Bearer {}"])
def test_a_token_is_known_by_its_form(text: str, form: str) -> None:
    whole = form.format(text)
    assert looks_secret(whole)
    assert text not in masked(whole)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_resembles_a_token_is_left_alone(text: str) -> None:
    assert not looks_secret(text)
    assert masked(text) == text


def test_a_password_in_an_address_is_masked_and_the_host_is_not() -> None:
    assert looks_secret("redis://me:hunter2@store:6379")
    assert masked("redis://me:hunter2@store:6379") == "redis://me:***@store:6379"


@pytest.mark.parametrize(
    "key", ["api_key", "apiKey", "HF_TOKEN", "token", "client_secret", "Password"]
)
def test_a_key_is_known_by_its_name(key: str) -> None:
    assert names_secret(key)


@pytest.mark.parametrize("key", ["eos_token", "image_token", "tokenizer", "max_tokens", "keys"])
def test_a_models_tokens_are_no_secrets(key: str) -> None:
    assert not names_secret(key)


@pytest.mark.parametrize("secret", [*SECRETS, "redis://me:correct-horse@store"])
@pytest.mark.parametrize(
    "words",
    [
        ["--api-key", "{}"],
        ["--hf-token={}"],
        ["{}"],
        ["--{}"],
        ["--seed", "{}"],
        ["--tool-call-parser", "{}", "--enable-auto-tool-choice"],
        ["--reasoning-parser={}"],
        ["--hf-overrides", "{}"],
        ["--hf-overrides", '{"a": "{}", b}'],
        ["--kv-transfer-config", '{"api_key": "{}"}'],
        ["--kv-transfer-config", "{'api_key': '{}'}"],
        ["--kv-transfer-config.extra.password", "{}"],
    ],
)
def test_no_finding_shows_a_secret(words: list[str], secret: str) -> None:
    changes = {
        "serve.args": [word.replace("{}", secret) for word in words],
        "serve.env": {"VLLM_PP_LAYER_PARTITION": secret, "HF_TOKEN": secret, "NOTE": secret},
        "hosts.0.env": {"VLLM_PP_LAYER_PARTITION": "1,2"},
        "serve.pipelineParallel": 2,
    }
    findings = check(settings(2, changes))
    assert {"secret-in-args", "secret-in-env"} <= {finding.code for finding in findings}
    shown = json.dumps([finding.model_dump() for finding in findings])
    assert secret.removeprefix("redis://me:").removesuffix("@store") not in shown


def test_a_secret_without_a_known_form_is_not_shown_beside_its_name() -> None:
    text = "{'password': 'correct-horse'}"
    (finding,) = check(settings(1, {"serve.args": ["--hf-overrides", text]}))
    assert finding.code == "json-unreadable"
    assert "horse" not in str(finding)
