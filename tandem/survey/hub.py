"""A model as the Hub has it, before any download: its commit, its files, and its config.json."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tandem.errors import HubFailed
from tandem.remote.fetch_model import needed
from tandem.survey.facts import HubFacts, ModelFacts

if TYPE_CHECKING:
    from tandem.settings import ModelSettings

TIMEOUT_SECONDS = 5
"""How long the Hub may be silent: without it the hosts are looked at all the same."""


def hub_facts(model: ModelSettings) -> HubFacts | None:
    """Return what the Hub says of a model at the declared revision; None when it does not answer.

    It is asked with the token that the hosts are given, HF_TOKEN, and no other.
    """
    # Half a second to import, which only those who ask the Hub shall wait for.
    from huggingface_hub import HfApi, constants

    endpoint = model.source.endpoint or constants.ENDPOINT
    api = HfApi(endpoint=endpoint, token=os.environ.get("HF_TOKEN") or False)
    try:
        info = api.model_info(
            model.id, revision=model.revision, files_metadata=True, timeout=TIMEOUT_SECONDS
        )
    except Exception as problem:  # of huggingface_hub and its HTTP client, without one root
        status = getattr(getattr(problem, "response", None), "status_code", None)
        refusals = {
            401: f"{endpoint} does not let {model.id} be read, if it has it",
            403: f"{endpoint} does not let {model.id} be read with this token",
            404: f"{endpoint} has no {model.id} at {model.revision}",
        }
        refusal = refusals.get(status or 0)
        return HubFacts(endpoint=endpoint, refusal=refusal) if refusal else None
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
    total = sum(sizes[name] for name in needed(sorted(sizes)))
    return HubFacts(endpoint=endpoint, commit=info.sha, files_bytes=total)


def hub_model(model: str, revision: str | None, endpoint: str | None = None) -> ModelFacts:
    """Return config.json and the tensors' bytes; a few headers are read, no weights.

    HF_ENDPOINT and HF_TOKEN count, as huggingface_hub has them. Raises HubFailed when the Hub does
    not have the model, does not let it be seen, or does not answer.
    """
    from huggingface_hub import HfApi, constants, hf_hub_download
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    endpoint = endpoint or constants.ENDPOINT
    try:
        api = HfApi(endpoint=endpoint)
        files = api.get_safetensors_metadata(model, revision=revision).files_metadata
        path = Path(hf_hub_download(model, "config.json", revision=revision, endpoint=endpoint))
        config = json.loads(path.read_text(encoding="utf-8"))
    except Exception as problem:  # of huggingface_hub, its HTTP client and JSON, without one root
        words = str(problem).strip().partition("\n")[0] or type(problem).__name__
        raise HubFailed(f"{endpoint} does not tell of {model}: {words}") from None
    tensors = (tensor for file in files.values() for tensor in file.tensors.values())
    sizes = (end - start for start, end in (tensor.data_offsets for tensor in tensors))
    return ModelFacts(config=config, weights_bytes=sum(sizes))
