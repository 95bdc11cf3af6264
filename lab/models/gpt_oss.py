"""Makes a GPT-OSS of seven layers, four of them with a sliding window of 128 tokens.

Runs inside the image: python3 gpt_oss.py FOLDER.
"""

import sys

from _common import VOCABULARY, save, tokenizer  # type: ignore[import-not-found, unused-ignore]
from transformers import (  # type: ignore[import-not-found, unused-ignore]
    GptOssConfig,
    GptOssForCausalLM,
)

words = tokenizer()
config = GptOssConfig(
    vocab_size=VOCABULARY,
    hidden_size=64,
    intermediate_size=64,
    # Three full layers beside four: vLLM fills the smaller group up instead of splitting both.
    num_hidden_layers=7,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=32,
    num_local_experts=4,
    num_experts_per_tok=2,
    sliding_window=128,
    max_position_embeddings=4096,
    eos_token_id=words.eos_token_id,
    pad_token_id=words.pad_token_id,
)
save(sys.argv[1], config, GptOssForCausalLM, words)
