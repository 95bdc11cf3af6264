"""Where the cache has the tiny models."""

import pytest

from lab import model
from lab.errors import LabError


def test_up_keeps_the_model_of_every_family() -> None:
    folders = [folder.name.rpartition("-") for folder in model.cached()]
    assert [kind for kind, _, _ in folders] == [f"model-{family}" for family in model.families()]
    assert len({digest for _, _, digest in folders}) == len(model.families()) > 1


def test_a_family_that_is_not_there_is_named() -> None:
    with pytest.raises(LabError, match="no model family 'gpt5': there is deepseek_v2, gemma3"):
        model.folder_of("gpt5")
