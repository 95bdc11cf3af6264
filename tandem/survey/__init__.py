"""A read-only look at the hosts over SSH: what is there."""

from tandem.survey.facts import Facts, HostFacts, ImageFacts, ModelFacts
from tandem.survey.look import look, survey

__all__ = ["Facts", "HostFacts", "ImageFacts", "ModelFacts", "look", "survey"]
