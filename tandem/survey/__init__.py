"""A read-only look at the hosts over SSH: what is there."""

from tandem.survey.facts import Facts, HostFacts, ImageFacts
from tandem.survey.look import look, survey

__all__ = ["Facts", "HostFacts", "ImageFacts", "look", "survey"]
