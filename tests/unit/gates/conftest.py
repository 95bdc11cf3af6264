"""Docker on several hosts, as a gate sees it over SSH."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from tandem.gates import join, ranks, ready
from tests.shell import host_here
from tests.unit.gates.docker import FakeDocker
from tests.unit.gates.docker_program import DockerServer


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDocker]:
    """Return Docker on hosts where all is well, until the test changes it."""
    monkeypatch.setattr(join, "POLL_SECONDS", 0)
    monkeypatch.setattr(join, "PATIENCE_SECONDS", 0)
    monkeypatch.setattr(join, "WATCH_SECONDS", 60)
    monkeypatch.setattr(ready, "WATCH_SECONDS", 60)
    monkeypatch.setattr(ranks, "POLL_SECONDS", 0)
    monkeypatch.setattr(ready, "POLL_SECONDS", 0)
    monkeypatch.setattr(ready, "PATIENCE_SECONDS", 0)
    machine = tmp_path / "machine"
    machine.mkdir()
    fake = FakeDocker(machine)
    with DockerServer(fake, host_here(machine, monkeypatch)) as server:
        thread = Thread(target=server.serve_forever, args=[0.02])
        thread.start()
        yield fake
        server.shutdown()
        thread.join()
    assert fake.refused == []
