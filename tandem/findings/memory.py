"""Codes of memory: how it is weighed stands in docs/planning.md."""

from tandem.findings.code import EITHER, WARNING, Code, Section

SECTION = Section(
    "Memory",
    (
        Code(
            "weights-do-not-fit",
            EITHER,
            "Weights and what vLLM needs beside them leave nothing for the KV cache. A warning"
            " with `planner: warn`.",
            "Spread the model over more GPUs, or take a smaller quantization of it.",
        ),
        Code(
            "memory-not-enough",
            EITHER,
            "The KV cache has no room for one request of the longest length, or a cache of a set"
            " size no room beside the weights. A warning with `planner: warn`.",
            "Lower `serve.maxModelLen`, raise `serve.gpuMemoryUtilization`, or take more GPUs.",
        ),
        Code(
            "memory-tight",
            WARNING,
            "It may be enough or not: that depends on what is only assumed before the first start.",
            "Try it, or write the values that the line names.",
        ),
        Code(
            "utilization-above-free",
            EITHER,
            "vLLM asks for more of a GPU's memory than is free. A warning when it is only too much"
            " once CUDA and NCCL have started, or with `planner: warn`.",
            "Lower `serve.gpuMemoryUtilization`, or end what holds memory on the host.",
        ),
        Code(
            "max-num-seqs-above-blocks",
            EITHER,
            "`serve.maxNumSeqs` is more than the KV cache has blocks, and each request holds one"
            " for its state. A warning when it may be so, when older versions of vLLM start all"
            " the same, or with `planner: warn`.",
            "Lower `serve.maxNumSeqs` to what the line says.",
        ),
        Code(
            "weights-leave-little-kv",
            WARNING,
            "The weights take most of what vLLM asks for; only few short requests run at once.",
            "Spread the model over more GPUs, or accept it.",
        ),
        Code(
            "unified-headroom",
            WARNING,
            "On unified memory vLLM may pass its share while it profiles, and the host can hang.",
            "Lower `serve.gpuMemoryUtilization`, or set `serve.maxModelLen` and"
            " `serve.maxNumBatchedTokens`, as the line says.",
        ),
        Code(
            "heterogeneous-memory",
            WARNING,
            "The hosts' GPUs have memories of different size, and the smallest decides for all.",
            "Give larger GPUs more layers: `serve.pipelineParallel` and `VLLM_PP_LAYER_PARTITION`.",
        ),
        Code(
            "loader-reserve",
            WARNING,
            "This `--load-format` keeps buffers, which the KV cache then lacks.",
            "Leave it out when memory is short.",
        ),
        Code(
            "vllm-version-unknown",
            WARNING,
            "The plan of memory depends on vLLM's version, which is not known.",
            "Set `image.vllm` to the version in the image.",
        ),
        Code(
            "not-modelled",
            WARNING,
            "The planner does not know part of what decides, so the verdict covers only the rest.",
            "Set the key that the line names, if it names one. Else vLLM decides when it starts.",
        ),
    ),
)
