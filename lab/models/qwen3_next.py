"""Makes a Qwen3-Next of four layers, three of them gated delta nets.

Runs inside the image: python3 qwen3_next.py FOLDER.
"""

import sys

from _common import VOCABULARY, save, tokenizer  # type: ignore[import-not-found, unused-ignore]
from transformers import (  # type: ignore[import-not-found, unused-ignore]
    Qwen3NextConfig,
    Qwen3NextForCausalLM,
)

words = tokenizer()
config = Qwen3NextConfig(
    vocab_size=VOCABULARY,
    hidden_size=64,
    num_hidden_layers=4,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=32,
    # A state is larger than the keys and values of a block of 128 tokens, as in real models.
    linear_num_key_heads=4,
    linear_num_value_heads=8,
    linear_key_head_dim=64,
    linear_value_head_dim=64,
    num_experts=4,
    num_experts_per_tok=2,
    moe_intermediate_size=64,
    shared_expert_intermediate_size=64,
    max_position_embeddings=4096,
    eos_token_id=words.eos_token_id,
    pad_token_id=words.pad_token_id,
)
save(sys.argv[1], config, Qwen3NextForCausalLM, words)
