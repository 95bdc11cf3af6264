"""The command line, up to where a lab is touched."""

import pytest

from lab import cli, status


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("up", {"hosts": 2, "disk": None}),
        ("up --hosts 3 --disk 8", {"hosts": 3, "disk": 8}),
        ("down --purge", {"purge": True}),
        ("kill lab-1 ray-head", {"host": "lab-1", "container": "ray-head"}),
        ("power-cut lab-1 --off", {"host": "lab-1", "off": True}),
        ("partition lab-1 --from lab-2 --one-way", {"other": "lab-2", "one_way": True}),
        ("partition lab-1 --link", {"other": None, "link": True}),
        ("fill-disk lab-1 /srv --leave 100", {"path": "/srv", "leave": 100}),
        ("partition lab-1 --percent 20", {"percent": 20, "one_way": False}),
        ("slow-link lab-1 --mbit 0.5", {"host": "lab-1", "mbit": 0.5}),
        ("dockerd lab-1 restart", {"host": "lab-1", "action": "restart"}),
        ("sshd lab-2 limit", {"host": "lab-2", "action": "limit"}),
        ("limit-memory lab-1 server 64", {"container": "server", "mib": 64}),
        ("registry stop", {"action": "stop"}),
        ("heal --all", {"host": None, "all": True}),
        ("heal lab-2", {"host": "lab-2", "all": False}),
        ("model", {"family": "qwen3"}),
    ],
)
def test_options(line: str, expected: dict[str, object]) -> None:
    options = vars(cli.parser().parse_args(line.split()))
    assert options | expected == options


@pytest.mark.parametrize(
    "line",
    [
        *("", "up --hosts two", "kill lab-1", "heal", "heal lab-1 --all"),
        "partition lab-1 --one-way --link",
    ],
)
def test_wrong_command_lines(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.parser().parse_args(line.split())
    assert stopped.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_every_command_is_carried_out_by_something() -> None:
    commands = cli.parser()._subparsers
    assert commands is not None
    choices = commands._group_actions[0].choices
    assert choices is not None
    assert set(choices) == set(cli._COMMANDS)


def test_table_columns_are_aligned() -> None:
    assert status.render([("HOST", "STATE"), ("lab-1", "up"), ("lab-22", "down")]) == (
        "HOST    STATE\nlab-1   up\nlab-22  down"
    )
