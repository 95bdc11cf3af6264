"""The reference of the keys."""

from __future__ import annotations

import re
from pathlib import Path

from tandem.settings.reference import reference


def _rows() -> dict[str, tuple[str, str]]:
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \| (.+) \|$", reference(), re.MULTILINE)
    return {key: (default, meaning) for key, default, meaning in rows}


def test_groups_come_before_their_keys() -> None:
    keys = list(_rows())
    assert keys[:2] == ["hosts", "hosts[].name"]
    memory = keys.index("hosts[].memory")
    assert keys[memory + 1 : memory + 3] == ["hosts[].memory.total", "hosts[].memory.unified"]
    assert {"model.source.path", "serve.readyTimeout", "survey"} <= set(keys)


def test_defaults_are_written_as_in_a_stack_file() -> None:
    rows = _rows()
    written = {
        "hosts[].name": "required",
        "hosts[].interface": "-",
        "hosts[].gpus": "`1`",
        "image.entrypoint": "`vllm`",
        "serve.readyTimeout": "`45m`",
        "serve.env": "`{}`",
        "serve": "-",
        "rdma": "`true`",
        "shmSize": "`10GiB`",
        "survey": "`on`",
    }
    assert {key: rows[key][0] for key in written} == written


def test_meanings_are_the_docstrings_in_one_line_of_markdown() -> None:
    rows = _rows()
    assert rows["model.source"][1] == "Where the weights are: `path` or `hub`, exactly one."
    assert rows["serve.args"][1] == "More arguments for `vllm serve`, word for word."
    assert all(meaning for _, meaning in rows.values())


def test_the_readme_names_keys_that_are_there_and_all_that_are_required() -> None:
    rows = _rows()
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    section = readme.partition("\n## Keys\n")[2].partition("\n## ")[0]
    items = re.findall(r"^- (`.+?`):", section, re.MULTILINE)
    named = re.findall(r"`(.+?)`", " ".join(items))
    groups = {key.rpartition(".")[0].removesuffix("[]") for key in rows}
    optional = {key for key, (default, _) in rows.items() if default != "required"}
    required = {
        key
        for key in rows.keys() - groups - optional
        if not any(key.startswith(f"{group}.") for group in optional)
    }
    assert set(named) - set(rows) == set()
    assert required - set(named) == set()
