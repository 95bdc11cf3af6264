"""Talking to Docker's API over pipes; `docker` is a stand-in that this machine's Python runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tandem.ssh import SshTarget
from tandem.survey.docker_answers import docker_answers
from tandem.survey.docker_api import DockerApi, DockerSilent
from tests.shell import host_here, program

STAND_IN = """
import sys, time
for answer in {answers!r}:
    request = b""
    while line := sys.stdin.buffer.readline().strip():
        request += line
    if not request:
        sys.exit("the input has ended")
    sys.stdout.buffer.write(answer)
    sys.stdout.flush()
{at_the_end}
"""


def whole(body: str, status: str = "200 OK") -> bytes:
    """Return an answer that says how long it is."""
    data = body.encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


def chunked(*pieces: str) -> bytes:
    """Return an answer in pieces, each with its length."""
    chunks = b"".join(f"{len(p.encode()):x}\r\n{p}\r\n".encode() for p in (*pieces, ""))
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks


class Docker:
    """A `docker` on this machine's PATH that gives these answers in turn."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = host_here(folder, monkeypatch)

    def program(self, name: str, text: str) -> None:
        """Put a shell script onto PATH."""
        program(self._folder / name, text)

    def answer(self, *answers: bytes, at_the_end: str = "sys.exit(1)") -> None:
        """Let `docker system dial-stdio` give these answers."""
        script = self._folder / "docker.py"
        script.write_text(STAND_IN.format(answers=answers, at_the_end=at_the_end))
        self.program("docker", f"[ $1 = system ] || exit 1\nexec {sys.executable} {script}")


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    return Docker(tmp_path, monkeypatch)


def test_answers_come_in_turn_whole_or_in_pieces(docker: Docker) -> None:
    docker.answer(whole('{"a": "ä"}'), chunked('[{"b": "ö', 'ü"}, ', "1]\n"), whole("[]\n"))
    with DockerApi(SshTarget("host"), 5) as api:
        assert api.get("/a") == {"a": "ä"}
        assert api.get("/b") == [{"b": "öü"}, 1]
        assert api.read("/c") == b"[]\n"


def test_what_docker_refuses_is_an_answer_with_a_message(docker: Docker) -> None:
    docker.answer(whole('{"message": "No such image"}', "404 Not Found"))
    with DockerApi(SshTarget("host"), 5) as api:
        assert api.get("/images/x/json") == {"message": "No such image"}


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Len",
        whole('{"a": 1}')[:-3],
        chunked('{"a": 1}')[:-12],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    ],
)
def test_an_answer_that_breaks_off_is_none(docker: Docker, answer: bytes) -> None:
    docker.answer(answer, at_the_end="sys.exit('connection reset')")
    with DockerApi(SshTarget("host"), 5) as api, pytest.raises(DockerSilent) as silent:
        api.get("/a")
    assert not silent.value.is_lost


def test_a_docker_that_hangs_is_given_up_after_its_seconds(docker: Docker) -> None:
    docker.answer(at_the_end="time.sleep(60)")
    with (
        DockerApi(SshTarget("host"), 1) as api,
        pytest.raises(DockerSilent, match="no answer within 1 s"),
    ):
        api.get("/a")


def test_a_host_that_ssh_does_not_get_to_is_lost(docker: Docker) -> None:
    docker.program("ssh", "echo 'ssh: no route' >&2\nexit 255")
    with pytest.raises(DockerSilent, match="ssh: no route") as silent:
        docker_answers(SshTarget("host"), "test", "vllm")
    assert silent.value.is_lost


def test_a_user_without_rights_is_told_what_docker_tells_him(docker: Docker) -> None:
    docker.program(
        "docker",
        "[ $1 = version ] && echo 'permission denied while trying to connect' >&2"
        " || echo 'failed to open the raw stream connection' >&2\nexit 1",
    )
    answers = docker_answers(SshTarget("host"), "test", "vllm")
    assert answers == {"problem": "permission denied while trying to connect"}


def test_what_docker_refuses_to_list_is_its_problem(docker: Docker) -> None:
    docker.answer(whole('{"message": "layer does not exist"}', "500 Internal Server Error"))
    answers = docker_answers(SshTarget("host"), "test", "vllm")
    assert answers == {"problem": "layer does not exist"}


def test_own_containers_are_asked_for_and_the_last_words_of_one_that_gave_up(
    docker: Docker,
) -> None:
    own = {"dev.tandem.stack": "test"}
    listed = [{"Id": "1", "Labels": own}, {"Id": "2", "Labels": {}}, {"Id": "3", "Labels": own}]
    runs = {"Id": "1", "State": {"Status": "running", "ExitCode": 0}}
    ended = {"Id": "3", "State": {"Status": "exited", "ExitCode": 0}}
    asked = [listed, runs, ended, [{"Id": "sha256:1"}], {"Version": "29.1.3"}, {"Driver": "x"}]
    log = whole("\1\0\0\0\0\0\0\x16gave up after 5 starts\n")
    docker.answer(*(whole(json.dumps(body)) for body in asked), log, whole('{"Id": "sha256:1"}'))
    answers = docker_answers(SshTarget("host"), "test", "vllm")
    assert [one["Id"] for one in answers["own"]] == ["1", "3"]
    assert answers["reasons"] == {"3": "gave up after 5 starts"}
    assert (answers["version"], answers["info"]) == ({"Version": "29.1.3"}, {"Driver": "x"})
    assert answers["images"] == [{"Id": "sha256:1"}]
