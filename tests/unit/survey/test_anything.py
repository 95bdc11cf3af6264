"""Whatever a program prints, the survey does not fall over."""

import random
from pathlib import Path

import pytest

from tandem.survey.parse import host_facts

HOSTS = Path(__file__).parent / "hosts"
TEXTS = [path.read_text() for path in sorted(HOSTS.glob("*.txt"))]
LINES = [
    "",
    "x",
    "\t\t\t\t\t",
    ", , , , , , , ,",
    "1 2 3 4 5 6 7",
    "٣\t٣\t٣",
    "@@disks",
    "{}",
    "[1]",
]
CHARACTERS = "\n\t ,:/@-0٣x"


@pytest.mark.parametrize("seed", range(200))
def test_lines_that_are_lost_or_replaced(seed: int) -> None:
    chance = random.Random(seed)
    lines = chance.choice(TEXTS).split("\n")
    for _ in range(chance.randrange(12)):
        place = chance.randrange(len(lines))
        lines[place : place + 1] = chance.choice([[], [chance.choice(LINES)]])
    assert host_facts("a", "prod", {}, "\n".join(lines)).name == "a"


@pytest.mark.parametrize("seed", range(200))
def test_characters_that_are_lost_or_added(seed: int) -> None:
    chance = random.Random(seed)
    text = chance.choice(TEXTS)
    for _ in range(20):
        place = chance.randrange(len(text))
        text = text[:place] + chance.choice(["", chance.choice(CHARACTERS)]) + text[place + 1 :]
    assert host_facts("a", "prod", {}, text).name == "a"


@pytest.mark.parametrize("cell", ["x", "-1", "", "1.5", "٣"])
@pytest.mark.parametrize("section", ["weights", "rdma", "disks", "gpus"])
def test_cells_that_are_no_numbers(section: str, cell: str) -> None:
    rows = {
        "weights": f"{cell}\t{cell}\ta.safetensors\nb",
        "rdma": f"port\ta\t{cell}\tb\tc\td\ngid\t{cell}\t{cell}\ta\tb",
        "disks": f"docker\ta {cell} {cell} {cell} {cell}% /",
        "gpus": f"{cell}, a, b, c, {cell}, {cell}, {cell}",
    }
    before, _, after = TEXTS[0].partition(f"\n@@{section}\n")
    rest = after.partition("\n@@")[2]
    text = f"{before}\n@@{section}\n{rows[section]}\n\n@@{rest}"
    assert host_facts("a", "prod", {}, text).problem is None
