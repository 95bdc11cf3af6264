"""Room for the image and for shared memory."""

from tandem.findings import Severity
from tandem.survey.docker import LocalImage
from tandem.survey.facts import ImageFacts
from tandem.survey.machine import DiskFacts, MemoryFacts
from tandem.units import GIB, MIB
from tests.builders import DIGEST, findings

IMAGE = LocalImage(id="sha256:1", architecture="amd64", size=20 * GIB)


def disk(free: int) -> DiskFacts:
    """Return a disk of 100 GiB."""
    return DiskFacts(free=free, size=100 * GIB, mounted_on="/")


def test_an_image_that_has_no_room_is_refused_with_the_numbers() -> None:
    (finding,) = findings(2, {"image": IMAGE}, last={"docker_disk": disk(3 * GIB)})
    assert (finding.code, finding.severity) == ("disk-too-small", Severity.ERROR)
    assert (
        "the image takes 20.00 GiB, and Docker's disk on host-2 (/) has 3.00 GiB free of 100.00 GiB"
        in finding.message
    )


def test_a_host_that_has_the_image_needs_no_room_for_it() -> None:
    there = {"image": IMAGE, "docker_disk": disk(3 * GIB)}
    assert findings(2, {"image": IMAGE}, last=there) == []


def test_an_image_that_just_fits_is_fine() -> None:
    there = {"image": IMAGE}
    assert findings(2, there, last={"docker_disk": disk(20 * GIB)}) == []
    (refused,) = findings(2, there, last={"docker_disk": disk(20 * GIB - 1)})
    assert refused.code == "disk-too-small"


def test_an_image_that_another_host_has_is_measured_unpacked() -> None:
    layers = ImageFacts(digest=DIGEST, layers_bytes=20 * GIB)
    roomy = {"docker_disk": disk(21 * GIB)}
    assert findings(2, {"image": IMAGE}, last=roomy, image=layers) == []
    (refused,) = findings(2, {"image": IMAGE}, last={"docker_disk": disk(GIB)}, image=layers)
    assert "the image takes 20.00 GiB, and" in refused.message


def test_a_disk_with_just_enough_is_not_nearly_full() -> None:
    assert findings(1, {"docker_disk": disk(GIB)}) == []


def test_a_disk_that_is_nearly_full_is_a_warning() -> None:
    (finding,) = findings(1, {"docker_disk": disk(500 * MIB)})
    assert (finding.code, finding.severity) == ("disk-low", Severity.WARNING)
    assert "0.49 GiB free of 100.00 GiB" in finding.message


def test_shared_memory_above_the_hosts_own_is_a_warning() -> None:
    memory = {"memory": MemoryFacts(total=8 * GIB, available=7 * GIB)}
    (finding,) = findings(1, memory)
    assert (finding.code, finding.severity) == ("shm-exceeds-memory", Severity.WARNING)
    assert "10.00 GiB are more than the memory of host-1, 8.00 GiB" in finding.message
    for fits in ("2GiB", "8GiB"):
        assert findings(1, memory, changes={"shmSize": fits}) == []


def test_an_image_that_no_host_has_is_measured_by_its_layers() -> None:
    layers = ImageFacts(digest=DIGEST, layers_bytes=8 * GIB)
    (refused,) = findings(1, {"docker_disk": disk(7 * GIB)}, image=layers)
    assert (refused.code, refused.severity) == ("disk-too-small", Severity.ERROR)
    assert "the image takes, packed, 8.00 GiB" in refused.message
    (warned,) = findings(1, {"docker_disk": disk(20 * GIB)}, image=layers)
    assert (warned.code, warned.severity) == ("disk-too-small", Severity.WARNING)
    assert "8.00 GiB packed and 24.00 GiB or so" in warned.message
    assert findings(1, {"docker_disk": disk(24 * GIB)}, image=layers) == []
