"""What `make mutants` changes, and what it leaves as it is."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import pytest

from tests.mutants.sample import sample
from tests.mutants.source import Mutant, mutants

if TYPE_CHECKING:
    from pathlib import Path


def changed(text: str) -> set[str]:
    """Return the lines that the mutants of a text put in the place of others."""
    return {
        line[2:].strip()
        for mutant in mutants("some.py", text)
        if mutant.is_another_program(text)
        for line in difflib.ndiff(text.splitlines(), mutant.applied(text).splitlines())
        if line.startswith("+ ")
    }


@pytest.mark.parametrize(
    ("line", "mutated"),
    [
        ("x = a < b", {"x = (a <= b)"}),
        ("x = a not in b", {"x = (a in b)"}),
        ("x = a and b", {"x = (a or b)"}),
        ("x = not a", {"x = a"}),
        ("x = a // b", {"x = (a * b)"}),
        ("x = a | b", {"x = a"}),
        ("x += b", {"x -= b"}),
        ("x = 5", {"x = 6", "x = 4"}),
        ("x = True", {"x = False"}),
        ('x = "--flag"', {"x = ''"}),
        ("x = f(a, k=b)", {"x = f(a)"}),
        ("x = f(a, timeout=30)", {"x = f(a)"}),
        ("x = {a, b}", {"x = {a}", "x = { b}"}),
        ("x = {a: b, **c}", {"x = { **c}"}),
        ("f(a)", {"pass"}),
        ("x = b if a else c", {"x = b if (not a) else c"}),
        ('x = f"ä {a + b:.2f} {c}"', {"x = f'ä {a - b:.2f} {c}'"}),
    ],
)
def test_a_line_has_these_mutants(line: str, mutated: set[str]) -> None:
    assert changed(line) == mutated


@pytest.mark.parametrize(
    ("body", "mutated"),
    [
        ("return a", {"return None"}),
        ("raise a", {"pass"}),
        ("for x in a: break", {"for x in (): break", "for x in a: continue"}),
        ("while a(): b()", {"while (not a()): b()", "while a(): pass"}),
        ("return False", {"return True"}),
    ],
)
def test_a_function_has_these_mutants(body: str, mutated: set[str]) -> None:
    assert changed(f"def f(x: int) -> None:\n    {body}") == mutated


@pytest.mark.parametrize(
    "line",
    [
        "import a",
        "if TYPE_CHECKING: a()",
        '__all__ = ["a"]',
        '"""What it is."""',
        'x = "a sentence for people"',
        "def f(a: Literal['x']) -> Literal['y']: ...",
        "POLL_SECONDS = 2",
        "x = run(a, check=True, encoding='utf-8', frozen=True)",
        "assert a is not None",
        "x = 'a b' + f(b)",
    ],
)
def test_what_no_test_could_notice_is_left_as_it_is(line: str) -> None:
    assert changed(line) == set()


def test_a_field_s_limits_are_changed_and_other_types_are_not() -> None:
    text = "class A:\n    a: Annotated[int, Field(ge=1)] | None\n    b: list[int]\n"
    assert changed(text) == {
        "a: Annotated[int, Field(ge=2)] | None",
        "a: Annotated[int, Field(ge=0)] | None",
        "a: Annotated[int, Field()] | None",
    }


def test_a_mutant_is_told_as_a_diff_with_its_line() -> None:
    text = "a = b\nc = (\n    d == e\n)\n"
    (mutant,) = mutants("some.py", text)
    assert mutant.line == 3
    assert mutant.diff(text).splitlines() == [
        "--- a/some.py",
        "+++ b/some.py",
        "@@ -2,3 +2,3 @@",
        " c = (",
        "-    d == e",
        "+    (d != e)",
        " )",
    ]


def sampled(folder: Path, text: str, seed: str = "1") -> list[Mutant]:
    (folder / "tandem").mkdir(exist_ok=True)
    (folder / "tandem/some.py").write_text(text)
    return sample(folder, ["tandem"], seed, 5)


LINES = "\n".join(f"x = a{number} < b" for number in range(40))


def test_the_same_seed_gives_the_same_sample(tmp_path: Path) -> None:
    assert sampled(tmp_path, LINES) == sampled(tmp_path, LINES)
    assert sampled(tmp_path, LINES) != sampled(tmp_path, LINES, seed="2")


def test_a_new_line_elsewhere_leaves_the_sample_as_it_is(tmp_path: Path) -> None:
    before = sampled(tmp_path, LINES)
    after = sampled(tmp_path, f"import a\n{LINES}")
    assert [mutant.name for mutant in after] == [mutant.name for mutant in before]
