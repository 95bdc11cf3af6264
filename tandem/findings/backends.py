"""Codes of what a backend can't do over several hosts."""

from tandem.findings.code import EITHER, ERROR, Code, Section

SECTION = Section(
    "Backends",
    (
        Code(
            "image-without-ray",
            EITHER,
            "With `backend: ray` several hosts need Ray in the image. An error when the image was"
            " looked into and has none, a warning when vLLM's official image of this version has"
            " none.",
            "Set `backend: mp`. Or build an image from it with `pip install ray` in a fixed"
            " version, and use that.",
        ),
        Code(
            "backend-needs-newer-vllm",
            ERROR,
            "`backend: mp` needs a newer vLLM than the image has.",
            "Use an image with the version that the line names, or `backend: ray`.",
        ),
        Code(
            "backend-needs-entrypoint",
            ERROR,
            "`backend: mp` puts programs around what starts vLLM. With `image.entrypoint: image`"
            " that is not known.",
            "Set `image.entrypoint` to what starts vLLM in the image, e.g. `vllm`.",
        ),
        Code(
            "hosts-uneven",
            ERROR,
            "With `backend: mp` every host has the same number of ranks; the hosts declare"
            " different numbers of GPUs.",
            "Declare the same number of GPUs on every host, or use `backend: ray`.",
        ),
        Code(
            "ranks-uneven",
            ERROR,
            "With `backend: mp` the ranks can't be shared out evenly over the hosts.",
            "Change `serve.tensorParallel` or `serve.pipelineParallel`, or declare fewer hosts.",
        ),
        Code(
            "data-parallel-over-hosts",
            ERROR,
            "With `backend: mp` a flag of `serve.args` asks for several replicas of the model.",
            "Remove the flag. To serve several replicas, write a stack file for each.",
        ),
        Code(
            "log-too-quiet",
            ERROR,
            "With `backend: mp` an `up` waits for a line of each rank's log, and"
            " `VLLM_LOGGING_LEVEL` hides it.",
            "Remove the variable, or set it to `INFO` or `DEBUG`.",
        ),
    ),
)
