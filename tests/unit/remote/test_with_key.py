"""The server's command gets the API's key in its environment."""

import subprocess
import sys
from pathlib import Path

from tandem.remote import with_key


def test_the_command_has_the_key_in_its_environment_and_not_among_its_words(tmp_path: Path) -> None:
    file = tmp_path / "api-key"
    file.write_text("sesame, open")
    program = "import os, sys; print(os.environ['VLLM_API_KEY'], *sys.argv[1:], sep='|')"
    done = subprocess.run(
        [sys.executable, with_key.__file__, file, sys.executable, "-c", program, "serve", "--x=1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("sesame, open|serve|--x=1\n", "")
