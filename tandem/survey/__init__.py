"""A read-only look at the hosts over SSH: what is there."""

from tandem.survey.facts import Facts, HostFacts, ImageFacts, ModelFacts, StartFacts
from tandem.survey.look import files, look_at_hosts, survey

__all__ = [
    "Facts",
    "HostFacts",
    "ImageFacts",
    "ModelFacts",
    "StartFacts",
    "files",
    "look_at_hosts",
    "survey",
]
