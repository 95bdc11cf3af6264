"""Folders found again by their recipe."""

from pathlib import Path

import pytest

from lab import cache
from lab.image import recipe


def test_digest_tells_where_parts_end() -> None:
    assert cache.digest_of(["ab", "c"]) != cache.digest_of(["a", "bc"])
    assert cache.digest_of(["ab", "c"]) == cache.digest_of(["ab", "c"])


def test_text_of_a_folder_tells_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    first = cache.text_of(tmp_path)
    (tmp_path / "a").rename(tmp_path / "b")
    assert cache.text_of(tmp_path) != first


def test_made_once(tmp_path: Path) -> None:
    calls = []

    def make(folder: Path) -> None:
        calls.append(folder)
        (folder / "content").write_text("made")

    first = cache.made_once("kind", "abc", make, root=tmp_path)
    assert cache.made_once("kind", "abc", make, root=tmp_path) == first
    assert (first / "content").read_text() == "made"
    assert len(calls) == 1


def test_an_interrupted_making_is_not_taken_for_done(tmp_path: Path) -> None:
    def interrupted(folder: Path) -> None:
        (folder / "half").write_text("")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.made_once("kind", "abc", interrupted, root=tmp_path)
    folder = cache.made_once("kind", "abc", lambda new: None, root=tmp_path)
    assert list(folder.iterdir()) == []


def test_only_older_ones_of_the_same_kind_are_removed(tmp_path: Path) -> None:
    for name in ("host-new", "host-old", "host-older.unfinished", "registry", "model-a-1"):
        (tmp_path / name).mkdir()
    cache.remove_others([tmp_path / "host-new"], root=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["host-new", "model-a-1", "registry"]


def test_the_image_changes_with_its_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = recipe.digest()
    folder = Path(recipe.__file__).parent
    for source in folder.rglob("*"):
        target = tmp_path / source.relative_to(folder)
        if source.is_dir():
            target.mkdir()
        elif "__pycache__" not in source.parts:
            target.write_text(source.read_text())
    monkeypatch.setattr(recipe, "_FOLDER", tmp_path)
    assert recipe.digest() == before
    (tmp_path / "plugin" / "lab_vllm_platform.py").write_text("# other\n")
    assert recipe.digest() != before
