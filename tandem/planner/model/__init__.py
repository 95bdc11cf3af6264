"""What a model is, as its ``config.json`` says."""
