"""Codes of the stack file's keys, each by itself and against each other."""

from tandem.findings.code import ERROR, Code, Section

SECTION = Section(
    "Keys of the stack file",
    (
        Code(
            "unknown-key",
            ERROR,
            "The stack file has a key that Tandem does not know.",
            "Write the key that the line proposes, or remove it. All keys: [keys.md](keys.md).",
        ),
        Code("missing-key", ERROR, "A required key is missing.", "Add it to the stack file."),
        Code(
            "bad-value",
            ERROR,
            "A key has a value that can't be used: another type, out of range, or of another form.",
            "Write what the line asks for.",
        ),
        Code(
            "secret-in-plain",
            ERROR,
            "The stack file holds `apiKey` in plain text.",
            "Remove the line, then `pulumi config set --secret tandem:apiKey`.",
        ),
        Code(
            "name-twice", ERROR, "Two hosts have the same `name`.", "Give each host its own name."
        ),
        Code(
            "address-twice",
            ERROR,
            "Two hosts have the same `address`.",
            "Give each host its own address.",
        ),
        Code(
            "address-not-reachable",
            ERROR,
            "A host's address is 0.0.0.0, or a loopback address although there are other hosts.",
            "Write the host's address on the network between the hosts.",
        ),
        Code(
            "gpu-twice",
            ERROR,
            "A host's `gpus` names the same device twice.",
            "Name each device once.",
        ),
        Code(
            "port-twice",
            ERROR,
            "`serve.port` is a port that the backend takes on the first host: `ray.port`, or"
            " `mp.port` and the one after it.",
            "Choose another `serve.port`, e.g. 8000.",
        ),
        Code(
            "port-of-ray-workers",
            ERROR,
            "`serve.port` or `ray.port` is one of the ports that Ray gives to its workers.",
            "Choose a port outside the range that the line names.",
        ),
        Code(
            "interface-unknown",
            ERROR,
            "A host's interface can't be found from its address: nobody looked, or it has no `ip`.",
            "Set `hosts[].interface`, switch `survey` on, or install iproute2 on the host.",
        ),
        Code(
            "digest-unknown",
            ERROR,
            "`image.reference` is a tag, and nobody looked which image it stands for.",
            "Add the digest to `image.reference`, or switch `survey` on.",
        ),
    ),
)
