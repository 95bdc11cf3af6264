"""``python -m tandem COMMAND …``."""

import sys

from tandem.cli.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
