"""What tools/vllm_names.py reads out of a release, shown on a small one."""

from pathlib import Path

from tools.vllm_names import names, steps

FILES = {
    "engine/arg_utils.py": """
class EngineArgs:
    @staticmethod
    def add_cli_args(parser):
        group = parser.add_argument_group(title="ModelConfig", description="--not-a-flag, text")
        group.add_argument("--dtype", **kwargs["dtype"])
        group.add_argument("--quantization", "-q", help="see --dtype")
        for arg, kind in [("--guided-decoding-backend", str)]:
            group.add_argument(arg, type=kind)

    def other(self):
        return "--elsewhere"
""",
    "entrypoints/openai/cli_args.py": """
class BaseFrontendArgs:
    chat_template: str | None = None
    def method(self): ...

class FrontendArgs(BaseFrontendArgs):
    enable_auto_tool_choice: bool = False

def make_arg_parser(parser):
    parser.add_argument("--headless", action="store_true")
""",
    "tool_parsers/__init__.py": """
_TOOL_PARSERS_TO_REGISTER = {"hermes": ("hermes_tool_parser", "Hermes2ProToolParser")}
""",
    "tool_parsers/old_tool_parser.py": """
@ToolParserManager.register_module(["internlm", "intern"])
class Parser: ...
""",
    "reasoning/__init__.py": """
_REASONING_PARSERS_TO_REGISTER = {"qwen3": ("a", "B"), "kimi_k2": ("c", "D")}
""",
}


def release(folder: Path, changes: dict[str, str] | None = None) -> Path:
    """Write a release with some of its files changed."""
    for name, text in (FILES | (changes or {})).items():
        path = folder / "vllm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_names_of_a_release(tmp_path: Path) -> None:
    assert names(release(tmp_path)) == {
        "flags": {
            "--dtype",
            "--quantization",
            "-q",
            "--guided-decoding-backend",
            "--chat-template",
            "--enable-auto-tool-choice",
            "--headless",
        },
        "toolParsers": {"hermes", "internlm", "intern"},
        "reasoningParsers": {"qwen3", "kimi_k2"},
    }


def test_steps_say_what_came_and_what_went(tmp_path: Path) -> None:
    text = '_REASONING_PARSERS_TO_REGISTER = {"qwen3": ("a", "B"), "glm45": ("c", "D")}'
    older = release(tmp_path / "vllm-0.1.0")
    newer = release(tmp_path / "0.2.0", {"reasoning/__init__.py": text})
    first, second = steps([older, newer])
    assert (first["release"], second["release"]) == ("0.1.0", "0.2.0")
    assert first["toolParsers"] == {"added": ["hermes", "intern", "internlm"], "gone": []}
    assert second["toolParsers"] == {"added": [], "gone": []}
    assert second["reasoningParsers"] == {"added": ["glm45"], "gone": ["kimi_k2"]}
