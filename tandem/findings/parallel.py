"""Codes of how the model is split: over GPUs, hosts and stages, and against its config.json."""

from tandem.findings.code import EITHER, ERROR, WARNING, Code, Section

SECTION = Section(
    "How the model is split",
    (
        Code(
            "gpus-too-few",
            ERROR,
            "`serve.tensorParallel` x `serve.pipelineParallel` is more than the declared GPUs.",
            "Lower one of them, or declare more GPUs.",
        ),
        Code(
            "gpus-idle",
            WARNING,
            "`serve.tensorParallel` x `serve.pipelineParallel` is less than the declared GPUs.",
            "Raise one of them, or declare fewer hosts or GPUs.",
        ),
        Code(
            "tensor-parallel-across-hosts",
            WARNING,
            "Ranks that share layers are on several hosts, although a host has several GPUs.",
            "Set `serve.tensorParallel` and `serve.pipelineParallel` as the line says.",
        ),
        Code(
            "config-not-read",
            WARNING,
            "The model's config.json lacks a key that every model has, or holds no usable value for"
            " it. Memory and widths are not checked.",
            "Take the model's own config.json. If it is that, vLLM decides when it starts.",
        ),
        Code(
            "heads-not-divisible",
            ERROR,
            "The model's attention heads can't be split over `serve.tensorParallel` ranks.",
            "Choose one of the sizes that the line lists.",
        ),
        Code(
            "kv-heads-not-divisible",
            ERROR,
            "The model's key/value heads can't be split over the ranks, nor copied evenly to them.",
            "Choose one of the sizes that the line lists.",
        ),
        Code(
            "linear-heads-not-divisible",
            ERROR,
            "The heads of linear attention can't be split over `serve.tensorParallel` ranks.",
            "Choose one of the sizes that the line lists.",
        ),
        Code(
            "vision-heads-not-divisible",
            EITHER,
            "The heads of the vision tower can't be split over the ranks. A warning for families"
            " of models that may pad them.",
            "Add `--mm-encoder-tp-mode data` to `serve.args`, or choose one of the listed sizes.",
        ),
        Code(
            "fp8-block-not-divisible",
            EITHER,
            "A rank's share of the weights is no whole number of FP8 blocks. A warning when vLLM's"
            " version can work with that, or is not known.",
            "Choose one of the sizes that the line lists; for experts also"
            " `--enable-expert-parallel`.",
        ),
        Code(
            "weight-group-not-divisible",
            EITHER,
            "A rank's share of the weights is no whole number of AWQ's or GPTQ's groups. A warning"
            " for routed experts, which then run slower.",
            "Choose one of the sizes that the line lists; for experts also"
            " `--enable-expert-parallel`.",
        ),
        Code(
            "stages-without-layers",
            ERROR,
            "`serve.pipelineParallel` is more than the model has layers.",
            "Lower it.",
        ),
        Code(
            "partition-unreadable",
            ERROR,
            "`VLLM_PP_LAYER_PARTITION` is not a list of whole numbers.",
            "Write a number for each stage, with commas.",
        ),
        Code(
            "partition-wrong-count",
            ERROR,
            "`VLLM_PP_LAYER_PARTITION` does not have a number for each pipeline stage.",
            "Write `serve.pipelineParallel` numbers; remove it where that is 1.",
        ),
        Code(
            "partition-wrong-sum",
            ERROR,
            "The numbers of `VLLM_PP_LAYER_PARTITION` don't add up to the model's layers.",
            "Write numbers with that sum.",
        ),
        Code(
            "partition-differs",
            ERROR,
            "`VLLM_PP_LAYER_PARTITION` is not the same on every host.",
            "Write it once, in `serve.env`.",
        ),
        Code(
            "length-above-model",
            EITHER,
            "`serve.maxModelLen` is more than the model was made for. A warning when a variable or"
            " a flag allows or extends it.",
            "Lower it, or extend the model with `--hf-overrides`.",
        ),
        Code(
            "no-experts",
            ERROR,
            "`--enable-expert-parallel` is for models with experts, and this one has none.",
            "Remove the flag.",
        ),
        Code(
            "context-parallel-without-copies",
            ERROR,
            "Decode context parallelism needs more ranks than key/value heads.",
            "Remove it, or raise `serve.tensorParallel` to a multiple of the heads.",
        ),
        Code(
            "context-parallel-too-large",
            ERROR,
            "`--decode-context-parallel-size` is more than the copies of each key/value head.",
            "Lower it to what the line says.",
        ),
        Code(
            "context-parallel-not-divisible",
            ERROR,
            "`--decode-context-parallel-size` does not divide the query heads of a key/value head.",
            "Choose a size that divides them.",
        ),
    ),
)
