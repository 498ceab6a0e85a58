"""Runs the service: `python -m hyperpod_constructs.rehearsal.service --port 0`."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
