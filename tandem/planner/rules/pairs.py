"""Flags that need another flag, or a model of some kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tandem.findings import Finding, error, warning
from tandem.planner.vllm.flags import Flags
from tandem.planner.vllm.releases import declared_version
from tandem.planner.vllm.versions import CACHES_HYBRID_PREFIXES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.planner.model.architecture import Architecture
    from tandem.settings import Settings


class Partner(NamedTuple):
    """A flag that vLLM refuses without another one."""

    flag: str
    needs: str


PARTNERS = (
    # validate_parsed_serve_args, the front end's cli_args.py, 0.11.2 to 0.33.0
    Partner("--enable-auto-tool-choice", "--tool-call-parser"),
    Partner("--enable-log-outputs", "--enable-log-requests"),
    # ParallelConfig, vllm/config/parallel.py, 0.11.2 to 0.32.0
    Partner("--enable-eplb", "--enable-expert-parallel"),
)
"""Confirmed in the source that each comment names."""


def partners(settings: Settings) -> Iterator[Finding]:
    """Each flag that needs another has it."""
    flags = Flags(settings.serve.args)
    for flag, needs in PARTNERS:
        if flags.has(flag) and not flags.has(needs):
            yield error(
                "flag-without-partner",
                flags.place(flag),
                f"{flag} requires {needs}",
                f"add {needs} to serve.args or remove {flag}",
            )


def idle_tool_parser(settings: Settings) -> Iterator[Finding]:
    """A tool call parser without automatic tool choice does nothing.

    Source: ``ParserManager.get_tool_parser``, vllm/parser/parser_manager.py, 0.19.1 to 0.33.0.
    """
    flags = Flags(settings.serve.args)
    flag, needs = "--tool-call-parser", "--enable-auto-tool-choice"
    if flags.has(flag) and not flags.has(needs):
        yield warning(
            "tool-parser-idle",
            flags.place(flag),
            f"{flag} does nothing without {needs}",
            f"add {needs} to serve.args",
        )


def mamba_blocks(settings: Settings) -> Iterator[Finding]:
    """A block size for states needs prefix caching.

    Source: ``validate_mamba_block_size``, vllm/config/vllm.py, 0.11.2 to 0.32.0.
    """
    flags = Flags(settings.serve.args)
    flag, needs = "--mamba-block-size", "--enable-prefix-caching"
    if not flags.has(flag) or flags.has(needs):
        return
    version = declared_version(settings)
    is_on = flags.switch(needs) is not False
    if is_on and version is not None and version >= CACHES_HYBRID_PREFIXES:
        return
    tell = warning if is_on and version is None else error
    yield tell(
        "flag-without-partner",
        flags.place(flag),
        f"{flag} can only be set with {needs}",
        f"add {needs} to serve.args or remove {flag}",
    )


def expert_parallel(settings: Settings, model: Architecture) -> Iterator[Finding]:
    """Expert parallelism is for models with experts.

    Source: ``_verify_with_expert_parallelism``, vllm/config/model.py, 0.11.2 to 0.32.0.
    """
    flags, flag = Flags(settings.serve.args), "--enable-expert-parallel"
    if model.experts is None and flags.switch(flag):
        yield error(
            "no-experts",
            flags.place(flag),
            f"{flag} is for models with experts, {model.name} has none",
            "remove it",
        )


def decode_context_parallel(settings: Settings, model: Architecture) -> Iterator[Finding]:
    """Decode context parallelism has copies of key and value heads to work with.

    Source: ``verify_with_parallel_config``, vllm/config/model.py, 0.11.2 to 0.33.0, which asks
    nothing of models with MLA.
    """
    flags, flag = Flags(settings.serve.args), "--decode-context-parallel-size"
    size = flags.number(flag)
    tensor, heads = settings.serve.tensor_parallel, model.kv_heads
    if size is None or size < 2 or model.mla is not None:
        return
    place = flags.place(flag)
    if tensor <= heads:
        yield error(
            "context-parallel-without-copies",
            place,
            f"tensor parallel size ({tensor}) must be greater than key/value heads ({heads}) for "
            "decode context parallelism",
            f"remove it or set tensorParallel to {2 * heads} or another multiple of {heads}",
        )
    elif size > tensor // heads:
        yield error(
            "context-parallel-too-large",
            place,
            f"decode context parallel size ({size}) is more than tensor parallel size ({tensor}) "
            f"/ key/value heads ({heads}) = {tensor // heads}",
            f"set it to {tensor // heads} or less",
        )
    elif (model.heads // heads) % size:
        yield error(
            "context-parallel-not-divisible",
            place,
            f"query heads of a key/value head ({model.heads // heads}) must be divisible by "
            f"decode context parallel size ({size})",
            "choose a size that divides them",
        )
