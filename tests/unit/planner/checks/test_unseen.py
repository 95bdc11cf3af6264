"""What has to be declared when nobody looks at the hosts."""

from tandem.planner.checks import check_unseen
from tandem.survey.facts import Facts
from tests.builders import facts, settings


def test_several_hosts_have_to_name_their_interfaces() -> None:
    declared = settings(2, {"hosts.0.interface": "eth0"})
    (finding,) = check_unseen(declared, Facts())
    assert (finding.code, finding.path) == ("interface-unknown", "tandem:hosts[1].interface")


def test_the_digest_has_to_be_declared() -> None:
    declared = settings(1, {"image.reference": "registry.example/vllm:1"})
    (finding,) = check_unseen(declared, Facts())
    assert finding.code == "digest-unknown"


def test_one_pinned_host_is_fine() -> None:
    assert list(check_unseen(settings(1), Facts())) == []


def test_hosts_that_were_seen_tell_it_themselves() -> None:
    declared = settings(2, {"image.reference": "registry.example/vllm:1"})
    assert list(check_unseen(declared, facts(declared))) == []


def test_a_retired_host_has_to_name_what_nobody_looks_up() -> None:
    declared = settings(2, {"hosts.1.retired": True})
    (finding,) = check_unseen(declared, facts(declared))
    assert (finding.code, finding.path) == ("interface-unknown", "tandem:hosts[1].interface")
    assert finding.message.startswith("the host is retired and not looked at")
    named = settings(2, {"hosts.1.retired": True, "hosts.1.interface": "eth1"})
    assert list(check_unseen(named, facts(named))) == []


def test_a_retired_head_needs_the_digest() -> None:
    changes = {"hosts.0.retired": True, "hosts.0.interface": "eth0"}
    declared = settings(2, changes | {"image.reference": "registry.example/vllm:1"})
    (finding,) = check_unseen(declared, facts(declared))
    assert finding.code == "digest-unknown"
