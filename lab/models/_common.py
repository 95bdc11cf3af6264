"""What the makers of tiny models share: tokenizer, chat template, seeds. Runs inside the image."""

from pathlib import Path

import torch  # type: ignore[import-not-found, unused-ignore]
from tokenizers import (  # type: ignore[import-not-found, unused-ignore]
    Tokenizer,
    decoders,
    models,
    pre_tokenizers,
    trainers,
)
from transformers import (  # type: ignore[import-not-found, unused-ignore]
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

VOCABULARY = 512
END = "<|im_end|>"
SPECIAL = ["<|endoftext|>", "<|im_start|>", END, "<think>", "</think>"]
TEMPLATE = """\
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}
{{- '<think>\\n\\n</think>\\n\\n' }}
{%- endif %}
{%- endif %}
"""


def tokenizer() -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer of exactly VOCABULARY tokens, trained on its own text."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - len(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    bpe.train_from_iterator(Path(__file__).read_text().splitlines() * 4, trainer)
    result = PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token=END, pad_token=SPECIAL[0], model_max_length=4096
    )
    # Added by hand, as in Qwen's tokenizers: "<think>" is one token, but not a special one.
    result.add_tokens(SPECIAL[3:])
    result.add_special_tokens({"additional_special_tokens": [SPECIAL[1]]})
    result.chat_template = TEMPLATE
    return result


def save(
    folder: str,
    config: PretrainedConfig,
    model_class: type[PreTrainedModel],
    words: PreTrainedTokenizerFast,
) -> None:
    """Save a model with random weights, the same on each run, and its tokenizer."""
    torch.manual_seed(0)
    model = model_class(config).to(torch.bfloat16)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
