"""All that speaks for and against a deployment, before any container of it is specified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tandem.errors import UnreadableConfig
from tandem.findings import Finding, Severity, warning
from tandem.planner.checks import check_facts, check_hub
from tandem.planner.layout import layout
from tandem.planner.memory.fit import fit
from tandem.planner.memory.result import Fit, Verdict
from tandem.planner.memory.starts import measured, start_of
from tandem.planner.memory.surveyed import host_memory
from tandem.planner.memory.weights import Weights, declared_weights
from tandem.planner.model.architecture import read_architecture
from tandem.planner.rules import check, check_architecture
from tandem.planner.specs import Rank, SpecModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tandem.planner.memory.hosts import HostMemory, Measured
    from tandem.settings import Settings
    from tandem.survey.facts import Facts, ImageContent, ModelFacts


class Assessment(SpecModel):
    """Ranks, memory and findings of one deployment."""

    findings: tuple[Finding, ...]
    """Errors first."""
    ranks: tuple[Rank, ...]
    fit: Fit | None
    """None when the model's config.json is not known."""
    start: dict[str, Any] | None
    """What tells this start from others; None when that is not known."""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Return the findings that stop the deployment."""
        return tuple(f for f in self.findings if f.severity is Severity.ERROR)

    @property
    def verdict(self) -> Verdict:
        """Return the fit's verdict; REFUSED as soon as any rule refuses."""
        if self.errors:
            return Verdict.REFUSED
        return self.fit.verdict if self.fit else Verdict.UNKNOWN


def assess(settings: Settings, facts: Facts) -> Assessment:
    """Weigh settings against what is known of hosts, image and model. Nothing is raised."""
    held = image_content(settings, facts)
    if held and settings.image.vllm is None:
        image = settings.image.model_copy(update={"vllm": held.vllm})
        settings = settings.model_copy(update={"image": image})
    ranks = layout(settings)
    memory = host_memory(settings, facts)
    start = start_of(settings, image_digest(settings, facts), memory)
    earlier = measured(start, facts.starts)
    of_model, weighed = _weigh(settings, facts.model, ranks, memory, earlier)
    of_hosts = [*check_hub(settings, facts.hub), *check_facts(settings, facts)]
    findings = [*check(settings, held), *of_hosts, *of_model]
    return Assessment(
        findings=tuple(sorted(findings, key=lambda finding: finding.severity)),
        ranks=ranks,
        fit=weighed,
        start=start,
    )


def _weigh(
    settings: Settings,
    known: ModelFacts | None,
    ranks: tuple[Rank, ...],
    memory: Mapping[str, HostMemory],
    earlier: Measured | None,
) -> tuple[list[Finding], Fit | None]:
    if known is None:
        return [], None
    try:
        model = read_architecture(known.config)
    except UnreadableConfig as problem:
        unread = warning(
            "config-not-read",
            "tandem:model.config" if settings.model.config else "tandem:model.source",
            f"config.json: {problem}",
            "memory and shard widths are not checked",
        )
        return [unread], None
    weighed = fit(settings, ranks, model, _weights(settings, known), memory, earlier)
    return [*check_architecture(settings, model), *weighed.findings], weighed


def image_digest(settings: Settings, facts: Facts) -> str | None:
    """Return the image's digest, declared or found."""
    return settings.image.digest or facts.image.digest


def image_content(settings: Settings, facts: Facts) -> ImageContent | None:
    """Return what the image is known to hold, or None."""
    digest = image_digest(settings, facts)
    return next((image for image in facts.images if image.digest == digest), None)


def _weights(settings: Settings, model: ModelFacts) -> Weights | None:
    if settings.model.weights is not None:
        return declared_weights(settings.model.weights, "declared")
    if model.weights_bytes is not None:
        return declared_weights(model.weights_bytes, "safetensors headers")
    return None
