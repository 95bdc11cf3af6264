"""`make bench-plan`: the planner beside vramscout and hf-mem on logged starts, and its own time.

All three get the same: config.json, the checkpoint's size, the GPU's memory, vLLM's options with
its defaults filled in. What a tool cannot be told or does not say is a dash and counts nowhere.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench.plan.answer_time import answer_time
from tests.bench.plan.starts import Answer, as_data, logged_starts
from tests.bench.plan.table import notes, table

if TYPE_CHECKING:
    from tests.bench.plan.starts import Start

HERE = Path(__file__).parent
RIVALS = {"vramscout 0.7.0": "ask_vramscout.py", "hf-mem 0.5.6": "ask_hf_mem.py"}
RIVALS_PYTHON = HERE.parents[2] / ".venv-bench" / "bin" / "python"


def main() -> None:
    """Ask every tool, and print."""
    starts = logged_starts()
    tools = {"Tandem": [start.ours for start in starts]}
    for name, program in RIVALS.items():
        tools[name] = _asked(program, starts)
    print(table(starts, tools))
    print()
    print(notes(starts))
    print()
    print(answer_time())


def _asked(program: str, starts: list[Start]) -> list[Answer]:
    """Return a rival's answers, empty where it cannot be asked.

    Raises RuntimeError with its own words when it fails on a start.
    """
    questions = [as_data(start.question) for start in starts if start.question]
    words = (str(RIVALS_PYTHON), str(HERE / program))
    done = subprocess.run(words, input=json.dumps(questions), stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"{program} ended with {done.returncode}")
    answers = iter(json.loads(done.stdout))
    return [_answer(next(answers), start) if start.question else Answer() for start in starts]


def _answer(said: dict[str, Any], start: Start) -> Answer:
    if "error" in said:
        raise RuntimeError(f"{start.name}: {said['error']}")
    return Answer(**said)


if __name__ == "__main__":
    main()
