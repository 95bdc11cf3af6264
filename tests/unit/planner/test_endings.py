"""In which order containers go, and when a host counts as free."""

from tandem.planner.endings import keep_specs, release_spec
from tandem.units import GIB
from tests.builders import plan, settings


def test_the_containers_of_a_host_name_those_of_all_hosts_that_go_after_them() -> None:
    made = plan(3)
    head, first, second, server = (spec.name for spec in made.containers)
    on_hosts = [keep_specs(host, made.containers) for host in settings(3).hosts]
    assert [{name: spec.holds for name, spec in specs.items()} for specs in on_hosts] == [
        {head: (), server: (head, first, second)},
        {first: (head,)},
        {second: (head,)},
    ]


def test_a_single_server_goes_alone() -> None:
    (specs,) = (host.kept for host in plan(1).hosts)
    assert [spec.holds for spec in specs.values()] == [()]


def test_a_bound_of_memory_and_a_time_are_as_declared() -> None:
    declared = settings(1, {"release": {"memory": "6GiB", "timeout": "5m"}})
    spec = release_spec(declared, "test", declared.first_host)
    assert (spec.memory_bytes, spec.timeout_seconds) == (6 * GIB, 300)
    assert (spec.stack, spec.host) == ("test", "host-1")


def test_without_one_the_bound_is_left_to_the_host() -> None:
    assert release_spec(settings(1), "test", settings(1).first_host).memory_bytes is None
