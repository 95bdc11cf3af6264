"""A read-only look at the hosts over SSH: what is there."""

from tandem.survey.facts import Facts, HostFacts, ImageFacts, ModelFacts
from tandem.survey.look import STACKS, survey
from tandem.survey.model import declared_model

__all__ = [
    "STACKS",
    "Facts",
    "HostFacts",
    "ImageFacts",
    "ModelFacts",
    "declared_model",
    "survey",
]
