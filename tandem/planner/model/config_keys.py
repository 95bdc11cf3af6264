"""Typed reading of a ``config.json``, in which the same thing has several names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tandem.errors import UnreadableConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_LAYERS = 4096
LARGEST = 2**40
"""Larger than any number in a real config.json; a larger one is a mistake."""


class ConfigKeys:
    """One JSON object of a ``config.json``; each method takes the names that a key goes by.

    A key that is null counts as absent. Every method raises UnreadableConfig, with the key's
    name, when a value is there and of the wrong kind.
    """

    def __init__(self, values: Mapping[str, Any], place: str = "") -> None:
        self._values = values
        self._place = place

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def size(self, *names: str) -> int:
        """Return a positive whole number that has to be there."""
        number = self.number(*names)
        if not number:
            raise UnreadableConfig(f"{self._place}{names[0]} is missing or 0")
        return number

    def number(self, *names: str) -> int | None:
        """Return a whole number from 0, or None when absent."""
        name, value = self._first(names)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST:
            raise self._wrong(name, value, "a whole number")
        return value

    def ratio(self, name: str) -> float | None:
        """Return a number from 0, with or without a fraction, or None when absent."""
        value = self._values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(name, value, "a number")
        if not 0 <= value <= LARGEST:
            raise self._wrong(name, value, f"a number from 0 to {LARGEST}")
        return float(value)

    def layers(self, *names: str) -> int | None:
        """Return a number of layers, or None when absent."""
        count = self.number(*names)
        if count is not None and count > MOST_LAYERS:
            name, _ = self._first(names)
            raise UnreadableConfig(
                f"{self._place}{name} is {count}, no model has more than {MOST_LAYERS}"
            )
        return count

    def flag(self, name: str) -> bool:
        """Return whether something is switched on; absent means off."""
        value = self._values.get(name)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(name, value, "true or false")
        return bool(value)

    def text(self, *names: str) -> str | None:
        """Return a text, or None when absent."""
        name, value = self._first(names)
        if value is not None and not isinstance(value, str):
            raise self._wrong(name, value, "a text")
        return value

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return a list of whole numbers, empty when absent."""
        values = self._list(name)
        if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
            raise self._wrong(name, values, "a list of whole numbers")
        return tuple(values)

    def is_list(self, name: str) -> bool:
        """Tell whether a key that goes by two forms holds a list."""
        return isinstance(self._values.get(name), list)

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return a list of texts, empty when absent."""
        name, _ = self._first(names)
        values = self._list(name)
        if not all(isinstance(value, str) for value in values):
            raise self._wrong(name, values, "a list of texts")
        return tuple(values)

    def inner(self, *names: str) -> ConfigKeys | None:
        """Return an object inside this one, or None when absent."""
        name, value = self._first(names)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self._wrong(name, value, "an object")
        return ConfigKeys(value, f"{self._place}{name}.")

    def objects(self) -> list[ConfigKeys]:
        """Return every object inside this one, in the order of their names."""
        names = sorted(name for name, value in self._values.items() if isinstance(value, dict))
        return [ConfigKeys(self._values[name], f"{self._place}{name}.") for name in names]

    def _first(self, names: tuple[str, ...]) -> tuple[str, Any]:
        for name in names:
            if name in self:
                return name, self._values[name]
        return names[0], None

    def _list(self, name: str) -> list[Any]:
        value = self._values.get(name)
        if value is not None and not isinstance(value, list):
            raise self._wrong(name, value, "a list")
        return value or []

    def _wrong(self, name: str, value: object, wanted: str) -> UnreadableConfig:
        return UnreadableConfig(f"{self._place}{name} is {value!r:.60}, not {wanted}")
