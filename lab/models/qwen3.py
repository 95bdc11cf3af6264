"""Makes a dense Qwen3 of two layers. Runs inside the image: python3 qwen3.py FOLDER."""

import sys

from _common import VOCABULARY, save, tokenizer  # type: ignore[import-not-found, unused-ignore]
from transformers import (  # type: ignore[import-not-found, unused-ignore]
    Qwen3Config,
    Qwen3ForCausalLM,
)

words = tokenizer()
config = Qwen3Config(
    vocab_size=VOCABULARY,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    # The smallest that the CPU attention of vLLM 0.32 takes.
    head_dim=32,
    max_position_embeddings=4096,
    eos_token_id=words.eos_token_id,
    pad_token_id=words.pad_token_id,
)
save(sys.argv[1], config, Qwen3ForCausalLM, words)
