"""The faults as data: one file of YAML each, checked when it is read."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import AfterValidator, Field, model_validator

from tests.faults.base import Part
from tests.faults.evidence import Evidence
from tests.faults.places import BackendName

FOLDER = Path(__file__).parent / "matrix"

Command = Literal["preview", "up", "refresh", "drift", "destroy"]


def _of_words(text: str) -> str:
    if text.count(" ") < 2:
        raise ValueError(f"{text!r} is a name, which other sentences hold, too")
    return text


Sentence = Annotated[str, AfterValidator(_of_words)]
"""Several words that the user reads one after the other."""


class Action(Part):
    """What breaks: the name of a function in actions.py, and what it is told."""

    action: str
    host: str = "lab-2"
    options: dict[str, Any] = {}


class Hold(Action):
    """What keeps the command where the fault is to meet it; undone with the fault."""

    at: str = ""
    """What the command says when it comes; before the command where this is empty."""


class RepairedByItself(Part):
    """The server answers again without anybody's help, and the next `up` finds nothing to mend."""

    ending: Literal["repaired-by-itself"]
    within: float
    """Seconds, from the end of the fault."""


class DriftThenUp(Part):
    """`drift` exits 7 and says what it found; after `up --refresh` it is quiet again."""

    ending: Literal["drift-then-up"]
    says: list[str] = []
    within: float = 30
    """Seconds until `drift` has to notice."""
    heals: bool = False
    """The cause goes away before the `up`, as what it does cannot be mended from outside."""


class Refused(Part):
    """The command fails in clear words and nothing is lost; without the fault it succeeds."""

    ending: Literal["refused"]
    says: list[Sentence] = []
    """What the user reads."""
    then_says: list[Sentence] = []
    """What the next command says: then the user has to do something first."""
    within: float = 120
    """Seconds until the command has ended: from its start, or from the fault where it runs."""
    may_change: list[Literal["containers", "volumes", "resources", "properties"]] = []
    """What the command may have changed on the hosts, or in the state; nothing else."""
    because: str = ""
    """Why it may."""
    any_status: bool = False
    """The engine's exit status is not to be relied on here."""

    @model_validator(mode="after")
    def _says_why(self) -> Self:
        if bool(self.may_change) != bool(self.because):
            raise ValueError("may_change and because belong together")
        if not self.says and not self.then_says:
            raise ValueError("the user has to read why")
        return self


class Succeeds(Part):
    """The command succeeds all the same."""

    ending: Literal["succeeds"]
    within: float = 120
    says: list[str] = []


class Fault(Part):
    """One row of the matrix."""

    name: str
    """What somebody would say who saw it."""
    slug: str
    image: Literal["stand-in", "real"] = "stand-in"
    backend: BackendName = "ray"
    """With mp the real image has no Ray in it."""
    quick: bool = False
    """Part of `make test`, too."""
    when: Literal["running", "before", "during"] = "running"
    """Before a command starts, or while it runs."""
    command: Command | None = None
    at: str = ""
    """What the command says when the fault comes; it comes at once where this is empty."""
    start: Literal["running", "nothing"] = "running"
    """What is deployed when the command starts."""
    has_image: bool = True
    """Whether an image that was pulled earlier is still on the hosts."""
    change: dict[str, Any] = {}
    """Keys of the stack file that are other than usual."""
    hold: Hold | None = None
    fault: Action
    lasts: float | None = None
    """Seconds until the fault is undone; without them, that is last of all."""
    evidence: list[Evidence] = Field(min_length=1)
    """What shows that it has happened."""
    expect: RepairedByItself | DriftThenUp | Refused | Succeeds = Field(discriminator="ending")
    of_ssh: bool = False
    """Connections are what it is about: they are not counted."""
    restarts_others: bool = False
    """Docker or a whole host stops, so other people's containers start again, too."""
    disk_gib: int | None = None
    """Size of the disk of each host; the lab is started with it."""


@cache
def read_matrix() -> tuple[Fault, ...]:
    """Return all faults, those that need another lab last."""
    faults = [
        Fault(slug=path.stem, **yaml.safe_load(path.read_text()))
        for path in sorted(FOLDER.glob("*.yaml"))
    ]
    order = {"stand-in": 0, "real": 1}
    return tuple(
        sorted(
            faults,
            key=lambda f: (
                *(f.disk_gib or 0, order[f.image], f.backend != "ray"),
                *(f.start != "running", f.slug),
            ),
        )
    )


def part(number: int, count: int) -> list[Fault]:
    """Return one of so many parts of the matrix; what needs the real image is all in the first."""
    faults = read_matrix()
    light = [fault for fault in faults if fault.image == "stand-in"]
    heavy = [fault for fault in faults if fault.image == "real"]
    return [*light[number::count], *(heavy if number == 0 else [])]
