"""What vLLM makes of flags and settings, by version."""
