"""A model as the Hub has it: its config.json and the size of its tensors, before any download."""

from __future__ import annotations

import json
from pathlib import Path

from tandem.errors import HubFailed
from tandem.survey.facts import ModelFacts


def hub_model(model: str, revision: str | None) -> ModelFacts:
    """Return config.json and the tensors' bytes; a few headers are read, no weights.

    HF_ENDPOINT and HF_TOKEN count, as huggingface_hub has them. Raises HubFailed when the Hub does
    not have the model, does not let it be seen, or does not answer.
    """
    # Half a second to import, which only those who ask the Hub shall wait for.
    from huggingface_hub import HfApi, constants, hf_hub_download
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    try:
        files = HfApi().get_safetensors_metadata(model, revision=revision).files_metadata
        path = Path(hf_hub_download(model, "config.json", revision=revision))
        config = json.loads(path.read_text(encoding="utf-8"))
    except Exception as problem:  # of huggingface_hub, its HTTP client and JSON, without one root
        words = str(problem).strip().partition("\n")[0] or type(problem).__name__
        raise HubFailed(f"{constants.ENDPOINT} does not tell of {model}: {words}") from None
    tensors = (tensor for file in files.values() for tensor in file.tensors.values())
    sizes = (end - start for start, end in (tensor.data_offsets for tensor in tensors))
    return ModelFacts(config=config, weights_bytes=sum(sizes))
