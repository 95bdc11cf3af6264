"""Copying a Python distribution with what it needs."""

from pathlib import Path

from lab.image.distributions import copy_with_needs


def test_a_distribution_takes_its_needs_along_and_nothing_else(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    _install(source, "first", "Second-part>=1", "absent; sys_platform == 'win32'", "")
    _install(source, "second_part", "third ; extra == 'more'", "../../bin/second")
    _install(source, "third", "", "")
    copy_with_needs("First", source, target)
    assert {path.name for path in target.iterdir()} == {
        *("first.py", "first-1.dist-info", "second_part.py", "second_part-1.dist-info")
    }


def _install(folder: Path, name: str, *needs_then_command: str) -> None:
    *needs, command = needs_then_command
    info = folder / f"{name}-1.dist-info"
    info.mkdir(parents=True)
    (folder / f"{name}.py").touch()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1"]
    lines += [f"Requires-Dist: {need}" for need in needs if need]
    (info / "METADATA").write_text("\n".join([*lines, ""]))
    files = [f"{name}.py", f"{name}-1.dist-info/METADATA", f"{name}/pruned.py", command]
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files if file))
