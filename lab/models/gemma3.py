"""Makes a Gemma 3 for text of six layers, five of them with a sliding window of 256 tokens.

Runs inside the image: python3 gemma3.py FOLDER.
"""

import sys

from _common import VOCABULARY, save, tokenizer  # type: ignore[import-not-found, unused-ignore]
from transformers import (  # type: ignore[import-not-found, unused-ignore]
    Gemma3ForCausalLM,
    Gemma3TextConfig,
)

words = tokenizer()
config = Gemma3TextConfig(
    vocab_size=VOCABULARY,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=6,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=32,
    query_pre_attn_scalar=32,
    sliding_window=256,
    max_position_embeddings=8192,
    eos_token_id=words.eos_token_id,
    pad_token_id=words.pad_token_id,
    bos_token_id=None,
)
save(sys.argv[1], config, Gemma3ForCausalLM, words)
