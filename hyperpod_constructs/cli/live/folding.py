"""Repeated events folded into one line. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .cluster import Event

_CHANGING = re.compile(r"\bi-[0-9a-f]+\b|\bip-[0-9-]+\b|\b\d+(\.\d+)*\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class Folded:
    """Events that say the same.

    Attributes:
        event: the newest of them.
        count: how many there are.
    """

    event: Event
    count: int


def folded(events: Iterable[Event], *, at_most: int) -> list[Folded]:
    """The newest kinds of events, each with its count; instance ids, addresses and numbers make no difference.

    Args:
        events: newest first.
        at_most: so many kinds.
    """
    kinds: dict[tuple[str, str, str], Folded] = {}
    for event in events:
        key = event.level, event.group, _CHANGING.sub("#", event.description)
        if key in kinds:
            kinds[key] = Folded(event=kinds[key].event, count=kinds[key].count + 1)
        elif len(kinds) < at_most:
            kinds[key] = Folded(event=event, count=1)
    return list(kinds.values())
