"""Makes a DeepSeek-V2 of two layers, whose attention keeps one latent vector a token (MLA).

Runs inside the image: python3 deepseek_v2.py FOLDER.
"""

import sys

from _common import VOCABULARY, save, tokenizer  # type: ignore[import-not-found, unused-ignore]
from transformers import (  # type: ignore[import-not-found, unused-ignore]
    DeepseekV2Config,
    DeepseekV2ForCausalLM,
)

words = tokenizer()
config = DeepseekV2Config(
    vocab_size=VOCABULARY,
    hidden_size=64,
    intermediate_size=128,
    moe_intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=4,
    # The latent and rotary sizes are the only ones that vLLM 0.32 has a kernel for on CPUs.
    kv_lora_rank=512,
    qk_rope_head_dim=64,
    q_lora_rank=None,
    qk_nope_head_dim=32,
    v_head_dim=32,
    first_k_dense_replace=1,
    n_routed_experts=4,
    n_shared_experts=1,
    num_experts_per_tok=2,
    n_group=1,
    topk_group=1,
    max_position_embeddings=4096,
    eos_token_id=words.eos_token_id,
    pad_token_id=words.pad_token_id,
)
save(sys.argv[1], config, DeepseekV2ForCausalLM, words)
