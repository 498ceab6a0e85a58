"""The one exception of the rehearsal."""

from __future__ import annotations


class RehearsalError(Exception):
    """Something stopped the rehearsal. The text is complete: what happened, where to look, what to do."""
