"""All that speaks for and against a deployment, before any container of it is specified."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.errors import UnreadableConfig
from tandem.findings import Finding, Severity, warning
from tandem.planner.architecture import read_architecture
from tandem.planner.checks import check_facts
from tandem.planner.fit import fit
from tandem.planner.fit_result import Fit, Verdict
from tandem.planner.host_memory import host_memory
from tandem.planner.layout import layout
from tandem.planner.rules import check, check_architecture
from tandem.planner.specs import Rank, SpecModel
from tandem.planner.weights import Weights, declared_weights

if TYPE_CHECKING:
    from tandem.settings import Settings
    from tandem.survey.facts import Facts, ModelFacts


class Assessment(SpecModel):
    """Ranks, memory and findings of one deployment."""

    findings: tuple[Finding, ...]
    """Errors first."""
    ranks: tuple[Rank, ...]
    fit: Fit | None
    """None when the model's config.json is not known."""

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
    ranks = layout(settings)
    of_model, weighed = _weigh(settings, facts, ranks)
    findings = [*check(settings), *check_facts(settings, facts), *of_model]
    return Assessment(
        findings=tuple(sorted(findings, key=lambda finding: finding.severity)),
        ranks=ranks,
        fit=weighed,
    )


def _weigh(
    settings: Settings, facts: Facts, ranks: tuple[Rank, ...]
) -> tuple[list[Finding], Fit | None]:
    if facts.model is None:
        return [], None
    try:
        model = read_architecture(facts.model.config)
    except UnreadableConfig as problem:
        unread = warning(
            "config-not-read",
            "tandem:model.config" if settings.model.config else "tandem:model.source.path",
            f"config.json: {problem}",
            "memory and shard widths are not checked",
        )
        return [unread], None
    memory = host_memory(settings, facts)
    weighed = fit(settings, ranks, model, _weights(settings, facts.model), memory)
    return [*check_architecture(settings, model), *weighed.findings], weighed


def _weights(settings: Settings, model: ModelFacts) -> Weights | None:
    if settings.model.weights is not None:
        return declared_weights(settings.model.weights, "declared")
    if model.weights_bytes is not None:
        return declared_weights(model.weights_bytes, "safetensors headers")
    return None
