"""Texts that look like secrets, and how a finding shows a text that may hold one."""

from __future__ import annotations

import re

_TOKENS = re.compile(
    r"""
    (?<![A-Za-z0-9])
    (?: hf[_-][A-Za-z0-9]{12,}                # Hugging Face
      | sk-[A-Za-z0-9_-]{12,}                 # OpenAI and its imitators
      | nvapi-[A-Za-z0-9_-]{12,}              # NVIDIA
      | gh[pousr]_[A-Za-z0-9]{20,}            # GitHub
      | github_pat_[A-Za-z0-9_]{20,}
      | glpat-[A-Za-z0-9_-]{12,}              # GitLab
      | xox[abprs]-[A-Za-z0-9-]{10,}          # Slack
      | (?:AKIA|ASIA)[A-Z0-9]{16}             # AWS
      | eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}    # JSON web token
    )
    """,
    re.VERBOSE,
)
_PASSWORD_IN_URL = re.compile(r"(://[^/\s:@]*:)[^/\s@]+(@)")

_LONGEST = 60
"""Characters of a quoted text."""

_NAMES = re.compile(
    r"(?:.*[_-])?(?:api[_-]?key|secret(?:[_-]key)?|password|passwd)"
    r"|(?:(?:hf|hub|api|auth|access|bearer|refresh|github)[_-])?token"
    r"|authorization|credentials?",
    re.IGNORECASE,
)
"""Keys inside a value. Not every name that ends in token: ``eos_token`` is part of a model."""


def looks_secret(text: str) -> bool:
    """Tell whether a text holds something in the form of a known kind of token or password."""
    return bool(_TOKENS.search(text) or _PASSWORD_IN_URL.search(text))


def names_secret(key: str) -> bool:
    """Tell whether a key's value is a secret, going by the key's name."""
    return bool(_NAMES.fullmatch(key))


def shown(text: str) -> str:
    """Return a text as a finding quotes it: without secrets, and not too long."""
    safe = masked(text)
    return safe if len(safe) <= _LONGEST else safe[: _LONGEST - 1] + "…"


def masked(text: str) -> str:
    """Return a text without what looks like a secret in it."""
    return _PASSWORD_IN_URL.sub(r"\1***\2", _TOKENS.sub("***", text))
