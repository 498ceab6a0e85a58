"""What an invocation may reach."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .aws import Aws


@dataclass(frozen=True, kw_only=True)
class Services:
    """What an operation may reach: AWS and the clock (seconds since the epoch)."""

    aws: Aws = field(default_factory=Aws)
    now: Callable[[], float] = time.time
