"""Whether a model fits: weights, reserve and KV cache of every rank."""
