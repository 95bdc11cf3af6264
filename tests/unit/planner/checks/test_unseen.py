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
