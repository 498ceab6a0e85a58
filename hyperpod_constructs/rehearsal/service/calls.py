"""The record of all calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .operations import is_mutating

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Call:
    """One call.

    Args:
        time: Seconds since the epoch.
        operation: `CreateCluster` and so on.
        parameters: The request as it came.
        error: The code of the error it was answered with, None after success.
    """

    time: float
    operation: str
    parameters: Mapping[str, Any]
    error: str | None

    @property
    def mutating(self) -> bool:
        """Whether the operation is one that changes anything."""
        return is_mutating(self.operation)
