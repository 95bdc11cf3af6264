"""Arguments whose value is JSON, as vLLM will read it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tandem.findings import Finding, error
from tandem.planner.masking import masked, names_secret
from tandem.planner.vllm.words import given

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.planner.vllm.words import Given
    from tandem.settings import Settings

JSON_FLAGS = (
    "--additional-config",
    "--attention-config",
    "--aux-output-config",
    "--compilation-config",
    "--default-chat-template-kwargs",
    "--default-mm-loras",
    "--diffusion-config",
    "--ec-manager-config",
    "--ec-transfer-config",
    "--engram-config",
    "--eplb-config",
    "--fault-tolerance-config",
    "--hf-overrides",
    "--ir-op-priority",
    "--kernel-config",
    "--kv-events-config",
    "--kv-transfer-config",
    "--limit-mm-per-prompt",
    "--logging-config",
    "--mamba-config",
    "--media-io-kwargs",
    "--mm-processor-kwargs",
    "--model-loader-extra-config",
    "--override-generation-config",
    "--override-pooler-config",
    "--pooler-config",
    "--profiler-config",
    "--quantization-config",
    "--reasoning-config",
    "--reasoning-effort-map",
    "--rope-scaling",
    "--speculative-config",
    "--structured-outputs-config",
    "--watermark-config",
    "--weight-transfer-config",
)
"""Flags whose field is a dict or a configuration class (``EngineArgs``,
vllm/engine/arg_utils.py, and the front end's cli_args.py, 0.10.2 to 0.32.0)."""

_NEARBY = 16
_SHORT_NUMBER = re.compile(r'("(?:[^"\\]|\\.)*")|\b\d+(?:\.\d+)?[kKmMgGtT]\b', re.DOTALL)
"""A JSON text, or a number as vLLM lets people write it, e.g. ``16k`` (from 0.20 at the latest)."""


def json_values(settings: Settings) -> Iterator[Finding]:
    """A value that vLLM reads as a JSON object is one (eugr/spark-vllm-docker#111, #163, #283)."""
    for one in given(settings.serve.args):
        if one.flag not in JSON_FLAGS or one.key:
            continue
        if one.value is None:
            yield error(
                "json-missing",
                one.path,
                f"{one.flag} has no value",
                'write a JSON object as the next word, e.g. \'{"key":"value"}\'',
            )
        elif problem := _problem(one.value):
            yield error(
                "json-unreadable",
                one.value_path,
                f"the value of {one.flag} is not a JSON object: {problem}",
                _remedy(one),
            )


def _problem(text: str) -> str | None:
    """Return what keeps a text from being a JSON object, and where."""
    # As long as before, so that the place of a break is that in the text as it was written.
    plain = _SHORT_NUMBER.sub(lambda match: match[1] or "0".ljust(len(match[0])), text)
    try:
        value = json.loads(plain)
    except json.JSONDecodeError as broken:
        return _place(text, broken)
    except (ValueError, RecursionError):
        return "a number in it is too long, or it is nested too deeply"
    kinds = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return None if isinstance(value, dict) else f"it is {kinds.get(type(value), 'a number')}"


def _place(text: str, broken: json.JSONDecodeError) -> str:
    """Return the reader's words, the place, and what stands there unless it may be a secret."""
    words = broken.msg[0].lower() + broken.msg[1:]
    place = f"{words} at character {broken.pos + 1} of {len(text)}"
    if any(names_secret(word) for word in re.findall(r"[\w-]+", text)):
        return place
    around = masked(text)[: broken.pos + _NEARBY][-2 * _NEARBY :]
    return f"{place}, near {around!r}"


def _remedy(one: Given) -> str:
    """Return what to change; the usual faults come from quoting for a shell that is not there."""
    text = (one.value or "").strip()
    if text[:1] in {"'", '"'}:
        return "remove the quotes around the value; the words of serve.args go through no shell"
    if '\\"' in text and "\\" in text[:3]:
        return "remove the backslashes; the words of serve.args go through no shell"
    if text.startswith("{{"):
        return "write one brace instead of two; nothing fills in a template here"
    if text.startswith("{") and '"' not in text:
        return 'write the double quotes: {"key":"value"}, in single quotes for YAML'
    return 'write a JSON object, e.g. \'{"key":"value"}\''
