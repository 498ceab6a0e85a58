"""Time, in one place, so that tests need not wait."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta

from hyperpod_constructs.cli.failures import usage_error

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def now() -> float:
    """Seconds since the epoch."""
    return time.time()


def sleep(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)


def moment(text: str) -> datetime:
    """A time as people give it: so long ago (``90m``, ``2h``, ``3d``), or in ISO form, local unless it says otherwise.

    Raises:
        CommandError: it is none.
    """
    match = re.fullmatch(r"(\d{1,6})([smhdw])", text)
    if match:
        return datetime.fromtimestamp(now(), UTC) - timedelta(seconds=int(match[1]) * _UNITS[match[2]])
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise usage_error(f"got the time {text!r}, allowed: 30m, 2h, 3d, or 2026-11-30T12:00 (local time)") from None
    return found.astimezone()


def shown_time(value: datetime | float | None) -> str:
    """Local time to the second, as people compare it with their watch."""
    if value is None:
        return ""
    when = value if isinstance(value, datetime) else datetime.fromtimestamp(value, UTC)
    return when.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def duration(seconds: float) -> str:
    """``45 s``, ``12 min``, ``2 h 05 min``."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s" if whole < 600 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
