"""Names and addresses of labs, none of which two labs have in common."""

import pytest

from lab.errors import LabError
from lab.layout import Site


def test_the_usual_lab() -> None:
    site = Site()
    assert str(site.ssh_config) == "/var/lib/tandem-lab/ssh/config"
    assert site.registry == "10.77.0.254:5000"
    assert (site.host_name(1), site.host_address(1)) == ("lab-1", "10.77.0.1")


def test_labs_have_no_name_in_common() -> None:
    def names(site: Site) -> set[str]:
        hosts = {site.namespace(1), site.link(1), site.host_address(1)}
        return {str(site.state), site.bridge, site.gateway, *hosts}

    assert not names(Site(0)) & names(Site(1))


def test_interface_names_fit_the_kernel() -> None:
    assert len(Site(9).link(16)) < 16
    assert len(Site(9).bridge) < 16


@pytest.mark.parametrize("text", ["-1", "10", "one", ""])
def test_a_wrong_number_is_named(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANDEM_LAB_NUMBER", text)
    with pytest.raises(LabError, match="from 0 to 9"):
        Site.from_environment()
