"""``python -m hyperpod_constructs.cli``."""

import sys

from . import main

sys.exit(main())
