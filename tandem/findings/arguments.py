"""Codes of the arguments and variables that the stack file gives to vLLM."""

from tandem.findings.code import EITHER, ERROR, WARNING, Code, Section

SECTION = Section(
    "Arguments and variables of vLLM",
    (
        Code(
            "reserved-argument",
            ERROR,
            "`serve.args` has a flag that Tandem writes from a key.",
            "Remove the flag and set the key that the line names.",
        ),
        Code(
            "reserved-variable",
            ERROR,
            "An `env` has a variable that Tandem sets.",
            "Remove the variable and set the key that the line names.",
        ),
        Code(
            "secret-in-args",
            ERROR,
            "A word of `serve.args` looks like a secret. The process list shows it to everybody.",
            "Remove it. For the API's key, set `apiKey`.",
        ),
        Code(
            "secret-in-env",
            ERROR,
            "A variable of an `env` looks like a secret. `docker inspect` shows it.",
            "Remove it. For the API's key, set `apiKey`.",
        ),
        Code(
            "api-key-not-passed",
            ERROR,
            "With `image.entrypoint: image` nothing can give `apiKey` to vLLM without showing it.",
            "Set `image.entrypoint` to what starts vLLM in the image, e.g. `vllm`.",
        ),
        Code(
            "json-missing",
            ERROR,
            "A flag that takes a JSON object has no value.",
            "Write the object as the next word of `serve.args`.",
        ),
        Code(
            "json-unreadable",
            ERROR,
            "The value of a flag that takes a JSON object is not one.",
            "Correct it. No shell reads `serve.args`: no more quotes or backslashes than JSON has.",
        ),
        Code(
            "unknown-flag",
            WARNING,
            "This release of vLLM has no such flag, as far as is known; plugins may add flags.",
            "Correct the flag, or set `image.vllm` to the version in the image.",
        ),
        Code(
            "flag-removed",
            EITHER,
            "The flag was removed from vLLM. A warning when the image's version is not known.",
            "Remove the flag.",
        ),
        Code(
            "flag-without-partner",
            EITHER,
            "A flag needs another one, which is not there. A warning when that depends on vLLM's"
            " version, and the version is not known.",
            "Add the other flag to `serve.args`, or remove the first.",
        ),
        Code(
            "unknown-parser",
            EITHER,
            "This release of vLLM has no parser of that name. A warning when the version is not"
            " known, or nothing uses the parser.",
            "Correct the name, or set `image.vllm` to the version in the image.",
        ),
        Code(
            "tool-parser-idle",
            WARNING,
            "`--tool-call-parser` does nothing without `--enable-auto-tool-choice`.",
            "Add `--enable-auto-tool-choice` to `serve.args`.",
        ),
        Code(
            "batched-tokens-too-few",
            ERROR,
            "`serve.maxNumBatchedTokens` is less than `serve.maxNumSeqs`: each needs a token.",
            "Raise the first or lower the second.",
        ),
        Code(
            "batched-tokens-below-length",
            ERROR,
            "Without chunked prefill, the longest prompt does not fit into one step.",
            "Remove `--no-enable-chunked-prefill`, or raise `serve.maxNumBatchedTokens`.",
        ),
    ),
)
