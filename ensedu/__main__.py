"""``python -m ensedu``: see `ensedu.command`."""

import sys

from ensedu.command import main

if __name__ == "__main__":
    sys.exit(main())
