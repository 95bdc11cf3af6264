"""Names and ports that somebody else has."""

from tandem.survey.docker import ContainerFacts
from tandem.survey.network import Listener
from tests.builders import findings


def container(name: str, stack: str = "") -> ContainerFacts:
    """Return a container, by default not one of Tandem's."""
    return ContainerFacts(id="1" * 64, name=name, stack=stack)


def test_a_foreign_container_with_a_name_of_the_deployment_is_refused() -> None:
    (finding,) = findings(1, {"containers": (container("tandem-test-host-1-server"),)})
    assert str(finding) == (
        "tandem:hosts[0].name: host-1 has a container tandem-test-host-1-server that is not of "
        "this deployment; rename or remove it there [name-taken]"
    )


def test_own_containers_and_those_with_other_names_are_fine() -> None:
    own = container("tandem-test-host-1-server", "test")
    other = container("tandem-other-host-1-server", "other")
    assert findings(1, {"containers": (own, other, container("grafana"))}) == []


def test_a_port_that_is_taken_is_refused_with_the_program() -> None:
    (finding,) = findings(1, {"listeners": (Listener(port=8000, program="python3, pid 7"),)})
    assert str(finding) == (
        "tandem:serve.port: something (python3, pid 7) listens on port 8000 of host-1 already; "
        "stop it or choose another port [port-taken]"
    )


def test_a_program_that_this_user_may_not_see_is_something() -> None:
    (finding,) = findings(2, {"listeners": (Listener(port=6379), Listener(port=22))})
    assert str(finding) == (
        "tandem:ray.port: something listens on port 6379 of host-1 already; "
        "stop it or choose another port [port-taken]"
    )


def test_only_who_listens_on_the_same_address_is_in_the_way() -> None:
    tunnel = Listener(port=8000, addresses=("127.0.0.1",))
    assert findings(1, {"listeners": (tunnel,)}) == []
    everywhere = findings(1, {"listeners": (tunnel,)}, changes={"serve.listen": "0.0.0.0"})
    assert [finding.code for finding in everywhere] == ["port-taken"]
    same = Listener(port=8000, addresses=("127.0.0.1", "10.0.0.1"))
    assert [finding.code for finding in findings(1, {"listeners": (same,)})] == ["port-taken"]
    ray = Listener(port=6379, addresses=("127.0.0.1",))
    assert [finding.path for finding in findings(2, {"listeners": (ray,)})] == ["tandem:ray.port"]


def test_ports_of_other_hosts_do_not_matter() -> None:
    assert findings(2, last={"listeners": (Listener(port=8000), Listener(port=6379))}) == []
