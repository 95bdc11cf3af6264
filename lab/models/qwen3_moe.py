"""Makes a Qwen3 with experts, of two layers. Runs inside the image: python3 qwen3_moe.py FOLDER."""

import sys

from _common import VOCABULARY, save, tokenizer  # type: ignore[import-not-found, unused-ignore]
from transformers import (  # type: ignore[import-not-found, unused-ignore]
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)

words = tokenizer()
config = Qwen3MoeConfig(
    vocab_size=VOCABULARY,
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=32,
    num_experts=4,
    num_experts_per_tok=2,
    moe_intermediate_size=64,
    max_position_embeddings=4096,
    eos_token_id=words.eos_token_id,
    pad_token_id=words.pad_token_id,
)
save(sys.argv[1], config, Qwen3MoeForCausalLM, words)
