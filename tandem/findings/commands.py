"""Codes of what the commands are given, and of the files that they read."""

from tandem.findings.code import ERROR, Code, Section

SECTION = Section(
    "Commands and their files",
    (
        Code(
            "no-stack-file",
            ERROR,
            "There is no stack file at this path, and none in `stacks/` for a stack of this name.",
            "Write a path, or the name of a stack that the line lists.",
        ),
        Code(
            "not-yaml",
            ERROR,
            "The stack file can't be read as YAML.",
            "Correct it where the line says.",
        ),
        Code(
            "no-config",
            ERROR,
            "The stack file has no mapping `config:`.",
            "Add it, with the keys of `tandem:` below.",
        ),
        Code(
            "bad-change",
            ERROR,
            "What follows `--set` is not `KEY=VALUE`, or the key can't be set.",
            "Write a key of [keys.md](keys.md) and its value, e.g. `serve.maxModelLen=32768`.",
        ),
        Code(
            "unknown-host",
            ERROR,
            "What follows `--host` is not the name of a host of this stack.",
            "Write one of the names that the line lists.",
        ),
        Code(
            "kept-is-whole",
            ERROR,
            "`logs --previous` was given `--since` or `--follow`; what was kept does not grow.",
            "Leave `--since` and `--follow` out.",
        ),
        Code(
            "image-unreadable",
            ERROR,
            "A file in `stacks/images` is not what the image gate wrote.",
            "Restore it from version control. Or remove it: the next `up` writes it again.",
        ),
        Code(
            "starts-unreadable",
            ERROR,
            "`stacks/starts.json` is not what the ready gate wrote.",
            "Restore it from version control. Or remove it: the next start writes it again.",
        ),
    ),
)
