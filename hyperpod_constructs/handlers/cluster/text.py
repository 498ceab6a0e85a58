"""Bounded texts: CloudFormation shows about 1,000 characters of a reason and accepts 4,096 bytes of a response."""

REASON_CHARACTERS = 1_000
ATTRIBUTE_BYTES = 900
GAP = " [...] "


def shortened(text: str, limit_bytes: int, *, head_share: float = 0.7) -> str:
    """The text, or its head and tail with a gap, in at most ``limit_bytes`` bytes of UTF-8.

    Never cuts inside a character. The head is kept longer, because the cause stands there; the tail is kept because
    a log ends with what went wrong.
    """
    raw = text.encode()
    if len(raw) <= limit_bytes:
        return text
    room = limit_bytes - len(GAP)
    if room <= 0:
        return raw[: max(limit_bytes, 0)].decode(errors="ignore")
    head = int(room * head_share)
    tail = room - head
    return raw[:head].decode(errors="ignore") + GAP + (raw[-tail:] if tail else b"").decode(errors="ignore")


def counted(number: int, noun: str) -> str:
    """``1 node``, ``2 nodes``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(items: list[str], *, at_most: int = 8) -> str:
    """``a, b, c``, and how many more when there are many."""
    if len(items) <= at_most:
        return ", ".join(items)
    return ", ".join(items[:at_most]) + f" and {len(items) - at_most} more"
