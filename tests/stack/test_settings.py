"""The stack's configuration, as Pulumi hands it over."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pulumi
import pytest

from components import read_settings
from tandem.errors import InvalidStack
from tests.builders import changed

KEYED = changed(1, {"apiKey": "sesame", "serve.port": 9000})


@pytest.fixture(autouse=True)
def no_other_configuration() -> Iterator[None]:
    yield
    pulumi.runtime.set_all_config({}, [])


def configure(data: dict[str, object], secrets: list[str]) -> None:
    """Set the configuration as the engine does: every value is text."""
    config = {
        f"tandem:{key}": value if isinstance(value, str) else json.dumps(value)
        for key, value in data.items()
    }
    pulumi.runtime.set_all_config({**config, "other:key": "1"}, secrets)


def test_all_keys_are_read_and_those_of_others_are_not() -> None:
    configure(KEYED, ["tandem:apiKey"])
    settings = read_settings()
    assert (settings.serve.port, settings.first_host.name) == (9000, "host-1")
    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == "sesame"


def test_a_key_that_nobody_asks_for_is_told() -> None:
    configure({**KEYED, "serv": "1"}, ["tandem:apiKey"])
    with pytest.raises(InvalidStack, match="tandem:serv: this key is not known"):
        read_settings()


def test_a_secret_that_stands_in_plain_text_is_refused() -> None:
    configure(KEYED, [])
    with pytest.raises(InvalidStack) as invalid:
        read_settings()
    assert [finding.code for finding in invalid.value.findings] == ["secret-in-plain"]
    assert "sesame" not in str(invalid.value)
