"""Codes of the image and of the model's files, on the hosts and where they come from."""

from tandem.findings.code import ERROR, WARNING, Code, Section

SECTION = Section(
    "Image and model",
    (
        Code(
            "image-missing",
            ERROR,
            "The registry does not have the image, or does not show which one a tag stands for.",
            "Correct `image.reference`, or pull the image on every host.",
        ),
        Code(
            "image-not-seen",
            WARNING,
            "The registry did not show the image. It may still let the hosts pull it.",
            "Nothing, if the hosts may pull it. Else give them access, or correct the reference.",
        ),
        Code(
            "tag-not-pinned",
            WARNING,
            "`image.reference` is a tag, which may stand for another image tomorrow.",
            "Write the digest that the line names.",
        ),
        Code(
            "image-architecture",
            ERROR,
            "The image is not made for a host's processor.",
            "Take an image that is made for every host's.",
        ),
        Code(
            "image-skew",
            WARNING,
            "The tag is another image on each host.",
            "Nothing: every host is given the digest that the registry names.",
        ),
        Code(
            "model-missing",
            ERROR,
            "A host has no config.json in `model.source.path`.",
            "Put the model's files into that folder on every host.",
        ),
        Code(
            "config-unreadable",
            ERROR,
            "config.json is no JSON object: a host's, or the file that `model.config` names.",
            "Copy it again, or correct `model.config`.",
        ),
        Code(
            "config-differs",
            WARNING,
            "A host's config.json is not that of the first host, which vLLM uses.",
            "Copy one host's files to the others.",
        ),
        Code(
            "weights-missing",
            ERROR,
            "A host lacks files that the model's index names.",
            "Copy them there.",
        ),
        Code(
            "weights-broken",
            ERROR,
            "A file of weights on a host is no safetensors file.",
            "Copy it again. If it is a Git LFS pointer, run `git lfs pull` where it came from.",
        ),
        Code(
            "model-differs",
            ERROR,
            "A file of weights is missing on a host, or has another size than on the first one.",
            "Copy one host's files to the others.",
        ),
        Code(
            "hub-refuses",
            ERROR,
            "The Hub does not give the model.",
            "Correct `model.id` and `model.revision`. For a model with terms, set `HF_TOKEN`.",
        ),
        Code(
            "revision-not-fixed",
            ERROR,
            "`model.revision` is no commit, so what the Hub has can change.",
            "Write the commit, 40 hex digits.",
        ),
    ),
)
