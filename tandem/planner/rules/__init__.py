"""What a stack file can get wrong, one function a rule; nothing here looks at a host.

``check`` needs the stack file alone, ``check_architecture`` the model's config.json besides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.backends import backend_of
from tandem.planner.rules import (
    heads,
    hosts,
    json_values,
    lengths,
    pairs,
    parallel,
    parsers,
    partition,
    reserved,
    secrets,
    widths,
)

if TYPE_CHECKING:
    from tandem.findings import Finding
    from tandem.planner.model.architecture import Architecture
    from tandem.settings import Settings
    from tandem.survey.facts import ImageContent

__all__ = ["check", "check_architecture"]


def check(settings: Settings, held: ImageContent | None = None) -> list[Finding]:
    """Return every finding that needs neither hosts nor config.json.

    ``held`` is what the image is known to hold.
    """
    rules = (
        hosts.names,
        hosts.addresses,
        hosts.devices,
        lambda settings: backend_of(settings).rules(),
        parallel.gpu_count,
        parallel.groups_within_hosts,
        partition.one_partition,
        lengths.batched_tokens,
        lengths.whole_prompts,
        reserved.variables,
        reserved.flags,
        secrets.in_variables,
        secrets.in_arguments,
        secrets.api_key,
        json_values.json_values,
        pairs.partners,
        pairs.idle_tool_parser,
        pairs.mamba_blocks,
        parsers.parser_names,
        parsers.removed_reasoning,
        parsers.flag_names,
    )
    of_settings = [finding for rule in rules for finding in rule(settings)]
    return [*of_settings, *backend_of(settings).image_rules(held)]


def check_architecture(settings: Settings, model: Architecture) -> list[Finding]:
    """Return every finding of settings against the model's architecture, memory aside."""
    rules = (
        heads.attention_heads,
        heads.kv_heads,
        heads.linear_heads,
        heads.vision,
        widths.fp8_blocks,
        widths.weight_groups,
        partition.stages,
        partition.partition,
        lengths.model_length,
        pairs.expert_parallel,
        pairs.decode_context_parallel,
    )
    return [finding for rule in rules for finding in rule(settings, model)]
