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


def test_what_a_row_is_of_is_not_cut_while_another_column_can_be() -> None:
    (line,) = columns([("a" * 60, "b" * 50)])
    assert line == f"{'a' * 60}  {'b' * 37}…"
    (line,) = columns([("a" * 120, "b" * 50)])
    assert len(line) == WIDTH
