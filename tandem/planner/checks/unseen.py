"""Of a host that nobody looked at, nothing but the stack file can name the interface and digest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.settings import HostSettings, Settings
    from tandem.survey.facts import Facts

_OFF = ("the survey is off", " or switch tandem:survey on")
_RETIRED = (
    "the host is retired and not looked at",
    " as the last up had it: `pulumi stack export`",
)


def check_unseen(settings: Settings, facts: Facts) -> Iterator[Finding]:
    """Yield what the stack file has to say to be deployed when nobody looked at a host."""
    for index, host in enumerate(settings.hosts):
        why = _why(host, facts)
        if why and host.interface is None and settings.spans_hosts:
            yield error(
                "interface-unknown",
                f"tandem:hosts[{index}].interface",
                f"{why[0]}, so the interface can't be found from the address",
                f"name the interface{why[1]}",
            )
    why = _why(settings.first_host, facts)
    if why and settings.image.digest is None:
        yield error(
            "digest-unknown",
            "tandem:image.reference",
            f"{why[0]}, so the tag can't be resolved",
            f"add @sha256:…{why[1]}",
        )


def _why(host: HostSettings, facts: Facts) -> tuple[str, str] | None:
    """Return why nobody looked at a host, and the end of the way on."""
    if not facts.hosts:
        return _OFF
    return _RETIRED if host.retired else None
