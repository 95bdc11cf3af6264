"""Model folders that are missing, incomplete or unequal."""

from tandem.findings import Severity
from tandem.survey.model_folder import ModelFolder, WeightFile
from tests.builders import findings

TWO = ("a.safetensors", "b.safetensors")


def model(*sizes: int, indexed: tuple[str, ...] | None = TWO, width: int = 64) -> ModelFolder:
    """Return a folder whose files have so many bytes, 100 of them header."""
    files = tuple(
        WeightFile(name=name, size=size, header=100) for name, size in zip(TWO, sizes, strict=False)
    )
    named = None if indexed is None else frozenset(indexed)
    return ModelFolder(has_config=True, config={"hidden_size": width}, files=files, indexed=named)


def test_a_host_without_the_model_is_refused() -> None:
    (finding,) = findings(1, {"model": ModelFolder()})
    assert finding.severity is Severity.ERROR
    assert str(finding) == (
        "tandem:model.source.path: host-1 has no /srv/model/config.json; "
        "put the model's files into /srv/model on every host [model-missing]"
    )


def test_a_file_that_the_index_names_and_the_host_lacks_is_refused() -> None:
    (finding,) = findings(2, {"model": model(1000, 1000)}, last={"model": model(1000)})
    assert finding.code == "weights-missing"
    assert "host-2 lacks 1 of the 2 files" in finding.message
    assert "b.safetensors" in finding.message


def test_a_git_lfs_pointer_is_refused() -> None:
    pointer = WeightFile(name="a.safetensors", size=134, header=2336927755350992246)
    facts = ModelFolder(has_config=True, config={}, files=(pointer,))
    (finding,) = findings(1, {"model": facts})
    assert finding.code == "weights-broken"
    assert "a.safetensors on host-1 is 134 bytes" in finding.message


def test_a_file_of_another_size_is_refused_with_both_sizes() -> None:
    (finding,) = findings(2, {"model": model(1000, 5000)}, last={"model": model(1000, 4999)})
    assert finding.code == "model-differs"
    assert "b.safetensors is not the same on all hosts" in finding.message
    assert "5,000 bytes on host-1 and 4,999 bytes on host-2" in finding.message


def test_another_config_is_a_warning() -> None:
    other = model(1000, 1000, width=128)
    (finding,) = findings(2, {"model": model(1000, 1000)}, last={"model": other})
    assert (finding.code, finding.severity) == ("config-differs", Severity.WARNING)
    assert "config.json of host-2 says something else than that of host-1" in finding.message


def test_equal_folders_are_fine() -> None:
    assert findings(2, {"model": model(1000, 500)}, last={"model": model(1000, 500)}) == []


def test_a_config_that_is_no_json_object_is_refused() -> None:
    (finding,) = findings(1, {"model": ModelFolder(has_config=True, config=None)})
    assert (finding.code, finding.severity) == ("config-unreadable", Severity.ERROR)
