"""Another backend is one file: everything else asks it, and knows no name of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tandem.planner import Plan, backends, make_plan
from tandem.planner.arguments import serve_arguments
from tandem.planner.backends.backend import Backend, TakenPort
from tandem.planner.layout import layout
from tandem.planner.status import judge
from tandem.survey.status import HostStatus
from tests.builders import facts, settings
from tests.stack.test_cluster import build

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tandem.planner.containers import Containers
    from tandem.planner.specs import ContainerSpec
    from tandem.settings import Settings


class Helpers(Backend):
    """A helper on every other host, with the ranks there, and the server after them."""

    roles = ("helper", "server")

    def slots(self) -> Sequence[str]:
        """Return the hosts in the order of the stack file."""
        return [host.name for host in self.settings.hosts]

    def containers(self, make: Containers) -> tuple[ContainerSpec, ...]:
        """Return the helpers and the server."""
        helpers = tuple(
            make.container(
                host,
                "helper",
                kind="VllmHelper",
                role="helper",
                entrypoint=("help",),
                command=(),
                env={},
                ranks=(number,),
            )
            for number, host in enumerate(self.others, 1)
        )
        names = tuple(helper.name for helper in helpers)
        arguments = serve_arguments(self.settings)
        server = make.server(arguments, env={}, ranks=(0,), after=names, replaced_with=names)
        return (*helpers, server)

    def ports(self) -> tuple[TakenPort, ...]:
        """Return a port of its own."""
        return (TakenPort("tandem:helpers.port", 7777, "0.0.0.0"),)


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Return the settings of three hosts that run it."""
    monkeypatch.setitem(backends.BACKENDS, "helpers", Helpers)
    return settings(3).model_copy(update={"backend": "helpers"})


@pytest.fixture
def made(declared: Settings) -> Plan:
    return make_plan(declared, facts(declared), "test")


def test_its_containers_are_the_plan(made: Plan) -> None:
    assert [spec.name for spec in made.containers] == [
        "tandem-test-host-2-helper",
        "tandem-test-host-3-helper",
        "tandem-test-host-1-server",
    ]
    assert (made.join, made.image.needs_ray) == (None, False)
    assert [watched.container for watched in made.ready.others] == [
        "tandem-test-host-2-helper",
        "tandem-test-host-3-helper",
    ]


def test_they_become_resources_in_their_order(made: Plan) -> None:
    built = build(made)
    kinds = [args.typ for args in built.resources if args.typ.startswith("tandem:index:Vllm")]
    assert sorted(kinds) == ["tandem:index:VllmHelper"] * 2 + ["tandem:index:VllmServer"]
    # Hosts that do not wait for each other are declared at the same time.
    *helpers, server = built.containers
    assert sorted([*helpers, server]) == sorted(spec.name for spec in made.containers)
    assert server == "tandem-test-host-1-server"


def test_a_helpers_log_names_what_goes_after_it(made: Plan) -> None:
    holds = {name: spec.holds for host in made.hosts for name, spec in host.kept.items()}
    assert holds["tandem-test-host-2-helper"] == ()
    assert holds["tandem-test-host-1-server"] == (
        "tandem-test-host-2-helper",
        "tandem-test-host-3-helper",
    )


def test_status_and_logs_know_its_roles_and_ranks(declared: Settings) -> None:
    seen = [HostStatus(name=host.name) for host in declared.hosts]
    rows = judge(declared, "test", seen).rows
    assert [(row.role, row.ranks) for row in rows] == [
        ("server", (0,)),
        ("helper", (1,)),
        ("helper", (2,)),
    ]
    assert "helper" in backends.roles()
    assert [rank.host for rank in layout(declared)] == ["host-1", "host-2", "host-3"]
