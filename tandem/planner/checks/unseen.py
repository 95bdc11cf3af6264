"""Without a survey, nothing but the stack file can name the interface and the digest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.settings import Settings
    from tandem.survey.facts import Facts


def check_unseen(settings: Settings, facts: Facts) -> Iterator[Finding]:
    """Yield what the stack file has to say to be deployed when nobody looked at the hosts."""
    if facts.hosts:
        return
    for index, host in enumerate(settings.hosts):
        if host.interface is None and settings.spans_hosts:
            yield error(
                "interface-unknown",
                f"tandem:hosts[{index}].interface",
                "the survey is off, so the interface can't be found from the address",
                "name the interface or switch tandem:survey on",
            )
    if settings.image.digest is None:
        yield error(
            "digest-unknown",
            "tandem:image.reference",
            "the survey is off, so the tag can't be resolved",
            "add @sha256:… or switch tandem:survey on",
        )
