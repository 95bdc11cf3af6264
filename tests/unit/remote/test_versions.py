"""The program that says what an image holds, with this machine's Python."""

import json
import platform
import subprocess
import sys
from importlib import metadata

import pytest

from tandem.remote import source
from tandem.remote.versions import version


def test_versions_are_printed_without_loading_a_package() -> None:
    done = subprocess.run(
        [sys.executable, "-"],
        input=source("versions.py"),
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found.keys() == {"python", "ray", "vllm"}
    assert found["python"] == platform.python_version()


@pytest.mark.parametrize(("package", "found"), [("pytest", True), ("no-such-package", False)])
def test_what_is_not_installed_is_none(package: str, found: bool) -> None:
    assert version(package) == (metadata.version(package) if found else None)
