"""A scratch copy of the tree, and the tests that run there.

The copy is never the checkout, and the tests run among processes of their own (`unshare` of
util-linux): a mutant of what ends processes would end every one of this machine, and one that hangs
leaves nothing behind.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from coverage import CoverageData

from tests.mutants.plugin import CHOSEN, ENDED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Set

    from tests.mutants.source import Mutant

FAST = ("tests/unit", "tests/stack", "tests/lab_unit")
APART = ("unshare", "--user", "--map-current-user", "--pid", "--fork", "--kill-child")
# A shell is the first process there: it takes in what a test leaves behind.
COMMAND = (*APART, "--mount-proc", "sh", "-c", '"$@"; exit $?', "sh", sys.executable)
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.mutants.plugin")
SOME_FAILED, NO_TESTS = 1, 5
"""pytest's exit statuses when tests failed, and when none of them is there."""
MOST_LEFT_OUT = 5
BASELINE_SECONDS = 30 * 60
STARTING_SECONDS = 60
NEAREST = 40
"""How many tests run first: they are collected fast, and most mutants get no further."""
SLOWER = 5
"""How many times longer than without a mutant the tests may take before they count as hanging."""


class Bench:
    """The copy, the tests that pass there, and what each of them touches."""

    def __init__(self, root: Path, scratch: Path) -> None:
        """Copy the working tree, with what is not committed and without what git ignores."""
        self.tree, self._scratch = scratch / "tree", scratch
        listing = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        names = subprocess.run(listing, cwd=root, capture_output=True, text=True, check=True).stdout
        for name in filter(None, names.split("\0")):
            if (root / name).is_file():  # a file that is about to be deleted is listed, too
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, self.tree / name)
        self._seconds: dict[str, float] = {}
        self._marked: set[str] = set()
        """Tests that may depend on lines that they do not touch themselves."""
        self._touching: dict[str, dict[int, list[str]]] = {}

    def measure(self) -> list[str]:
        """Run all fast tests without a mutant; return those that fail, which are left out then.

        Raises RuntimeError with what pytest said when there are many, or the tests did not run.
        """
        measured = self._scratch / "coverage"
        under = ("-m", "coverage", "run", f"--data-file={measured}", "--source=tandem,components")
        status = self._run((*under, *PYTEST, *FAST), None, BASELINE_SECONDS)
        failed = {entry["test"] for entry in self._entries() if entry["failed"]}
        if status not in (0, SOME_FAILED) or len(failed) > MOST_LEFT_OUT:
            raise RuntimeError((self._scratch / "said").read_text(errors="replace"))
        for entry in self._entries():
            if entry["test"] not in failed:
                self._seconds[entry["test"]] = self._seconds.get(entry["test"], 0)
                self._seconds[entry["test"]] += entry["seconds"]
                if entry["marked"]:
                    self._marked.add(entry["test"])
        data = CoverageData(str(measured))
        data.read()
        for file in data.measured_files():
            path = Path(file).relative_to(self.tree).as_posix()
            self._touching[path] = data.contexts_by_lineno(file)
        return sorted(failed)

    def try_out(self, mutant: Mutant) -> str | None:
        """Run the tests that touch the changed lines, the nearest first, then what else may notice.

        Return the first that fails, or what else ended the tests; None when all pass.
        """
        by_line = self._touching.get(mutant.path, {})
        touching = {test for line in mutant.lines for test in by_line.get(line, ())}
        others = self._unseen(touching)
        if "" in touching or not touching:
            # What runs when a module is imported belongs to no test, so any may depend on it.
            touching |= self._beside(mutant, by_line)
            others = set(self._seconds)
        first = self._order(mutant, touching)
        rest = self._order(mutant, others - touching)
        with self._mutated(mutant):
            for tests in (first[:NEAREST], first[NEAREST:], rest):
                caught_by = self._tests(tests)
                if caught_by is not None:
                    return caught_by
        return None

    def _beside(self, mutant: Mutant, by_line: Mapping[int, Sequence[str]]) -> set[str]:
        """Return the tests that run anything of the module, and those in the folder of its own."""
        folder = f"{_mirror(mutant.path).parent}/"
        near = {test for test in self._seconds if test.startswith(folder)}
        return near.union(*by_line.values())

    def _unseen(self, touching: Set[str]) -> set[str]:
        """Return the tests that may notice more than they touch.

        Those that start a process or read sources; and those in the files of the ones that touch,
        since the first to need a module's fixture makes it for all.
        """
        files = {_file(test) for test in touching}
        return self._marked | {test for test in self._seconds if _file(test) in files}

    def _order(self, mutant: Mutant, tests: Set[str]) -> list[str]:
        """Sort tests: those near the place where a module's own tests are, then the short ones."""
        mirror = _mirror(mutant.path)

        def shared(test: str) -> int:
            return len(os.path.commonpath((_file(test), mirror)))

        known = tests & self._seconds.keys()
        return sorted(known, key=lambda test: (-shared(test), self._seconds[test], test))

    @contextmanager
    def _mutated(self, mutant: Mutant) -> Iterator[None]:
        path = self.tree / mutant.path
        text, times = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(mutant.applied(text), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(text, encoding="utf-8")
            # With its time from before, its compiled form holds again.
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _tests(self, tests: Sequence[str]) -> str | None:
        """Return the first test that fails, also when it runs alone, or what else ended them.

        One that passes alone is disturbed by something else than the mutant, and the next one
        counts.
        """
        left = list(tests)
        while left:
            failed = self._first_failure(left)
            if failed not in left or self._first_failure([failed]) is not None:
                return failed
            del left[: left.index(failed) + 1]
        return None

    def _first_failure(self, tests: Sequence[str]) -> str | None:
        """Run tests until one fails; return that one or what else ended them, None if all pass."""
        files = dict.fromkeys(_file(test) for test in tests)
        limit = STARTING_SECONDS + SLOWER * sum(self._seconds[test] for test in tests)
        try:
            status = self._run((*PYTEST, "-x", *files), tests, limit)
        except subprocess.TimeoutExpired:
            return "a hang"
        if status in (0, NO_TESTS):
            return None
        failed = (entry["test"] for entry in self._entries() if entry["failed"])
        return next(failed, "an error before the first test")

    def _run(self, words: Sequence[str], tests: Sequence[str] | None, limit: float) -> int:
        """Run Python in the copy and return its exit status; what it says is kept in a file."""
        temporary, chosen = self._scratch / "tmp", self._scratch / "chosen"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        (self._scratch / "ended").unlink(missing_ok=True)
        variables = {
            **os.environ,
            "TMPDIR": str(temporary),
            "PYTHONHASHSEED": "0",
            ENDED: str(self._scratch / "ended"),
        }
        if tests is not None:
            chosen.write_text("\n".join(tests))
            variables |= {CHOSEN: str(chosen), "PYTHONDONTWRITEBYTECODE": "1"}
        with (self._scratch / "said").open("wb") as said:
            return subprocess.run(
                (*COMMAND, *words),
                cwd=self.tree,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                timeout=limit,
                check=False,
            ).returncode

    def _entries(self) -> list[dict[str, Any]]:
        """Return what the plugin wrote of the tests that have ended."""
        ended = self._scratch / "ended"
        return (
            [json.loads(line) for line in ended.read_text().splitlines()] if ended.exists() else []
        )


def _file(test: str) -> str:
    return test.partition("::")[0]


def _mirror(path: str) -> PurePosixPath:
    """Return where a module's own tests are."""
    source = PurePosixPath(path)
    if source.parts[0] == "components":
        return PurePosixPath("tests/stack") / f"test_{source.name}"
    return PurePosixPath("tests/unit", *source.parts[1:-1], f"test_{source.name}")
