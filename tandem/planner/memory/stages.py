"""Which layers each pipeline stage has."""

from __future__ import annotations


def stage_layers(
    layers: int, stages: int, partition: str | None = None
) -> tuple[tuple[int, int], ...]:
    """Return the first layer of each stage and the one after its last.

    An even split; what remains goes to the stages before the last one (``get_pp_indices``,
    vllm/distributed/utils.py, 0.11.2 to 0.32.0). A partition (``VLLM_PP_LAYER_PARTITION``) that
    does not add up is left out here: a rule of its own refuses it.
    """
    counts = read_partition(partition, layers, stages) or split_layers(layers, stages)
    starts = [sum(counts[:stage]) for stage in range(stages)]
    return tuple((start, start + count) for start, count in zip(starts, counts, strict=True))


def read_partition(partition: str | None, layers: int, stages: int) -> list[int] | None:
    """Return the layers of each stage, or None when the text is not a partition of them."""
    words = [word.strip() for word in (partition or "").split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < 6 for word in words):
        return None
    counts = [int(word) for word in words]
    return counts if len(counts) == stages and sum(counts) == layers else None


def split_layers(layers: int, stages: int) -> list[int]:
    """Return the number of layers of each stage when nothing is said about it."""
    counts = [layers // stages] * stages
    for place in range(2, layers % stages + 2):
        counts[-place] += 1
    return counts
