"""The one error of the lab."""


class LabError(Exception):
    """Something that the user can act on; its text is one line."""
