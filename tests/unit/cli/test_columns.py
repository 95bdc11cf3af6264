"""Text in columns."""

from tandem.cli.columns import WIDTH, columns, paragraphs


def test_cells_stand_below_each_other() -> None:
    assert columns([("host", "state"), ("a", "up"), ("longer", "down")]) == [
        "host    state",
        "a       up",
        "longer  down",
    ]


def test_the_widest_column_is_cut_and_says_so() -> None:
    (line,) = columns([("a" * 30, "b" * 90, "c")])
    assert len(line) == WIDTH
    assert line.startswith("a" * 30 + "  b")
    assert line.endswith("b…  c")


def test_a_long_line_is_folded_between_words() -> None:
    first, second = paragraphs([" ".join(["word"] * 24)])
    assert len(first) <= WIDTH
    assert second.startswith("    word")
