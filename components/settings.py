"""The stack's configuration, read through Pulumi."""

from __future__ import annotations

from pulumi.runtime.config import CONFIG, get_config_env, is_config_secret

from tandem.settings import Settings, load_settings


def read_settings() -> Settings:
    """Return the settings of the current stack.

    Raises InvalidStack when a key can't be used.
    """
    # Config.get reads one key by name and can't see a key that nobody asks for.
    config = {**get_config_env(), **CONFIG.get()}
    return load_settings(config, {key for key in config if is_config_secret(key)})
