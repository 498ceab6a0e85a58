"""Failures of nodes by script: which group's lifecycle script or launch fails, how often, and with what words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

SCRIPT_FAILURE = "Lifecycle scripts did not run successfully."
LAUNCH_FAILURE = "Instance launch failed with an internal error. The launch will be retried."


RollbackStatus = Literal["NotApplicable", "Reverted", "RevertFailed"]


@dataclass(frozen=True)
class LifecycleFailure:
    """One failing run of a lifecycle script.

    Args:
        message: What the service says about it.
        exit_code: The exit status of the script.
        log: The lines that the script writes before it ends.
    """

    message: str = SCRIPT_FAILURE
    exit_code: int = 1
    log: tuple[str, ...] = ()


@dataclass
class _Planned:
    failure: LifecycleFailure
    left: int | None

    def use(self) -> LifecycleFailure:
        if self.left is not None:
            self.left -= 1
        return self.failure


@dataclass
class FailureScript:
    """What shall go wrong, by group name; the service takes one entry for each try.

    `accounting` is how the next change of the accounting database fails, None when it shall succeed.
    """

    accounting: tuple[RollbackStatus, str] | None = None
    _lifecycle: dict[str, list[_Planned]] = field(default_factory=dict)
    _launch: dict[str, list[_Planned]] = field(default_factory=dict)

    def fail_lifecycle(
        self,
        group: str,
        times: int | None = None,
        message: str = SCRIPT_FAILURE,
        exit_code: int = 1,
        log: Sequence[str] = (),
    ) -> None:
        """Let the lifecycle script of a group fail so many times (None: always).

        Raises:
            ValueError: `times` is below 1, or the exit code is not one of a failure (1 to 255).
        """
        if not 1 <= exit_code <= 255:
            raise ValueError(f"exit_code must be 1 to 255, got {exit_code}")
        _plan(self._lifecycle, group, times, LifecycleFailure(message, exit_code, tuple(log)))

    def fail_launch(self, group: str, times: int | None = None, message: str = LAUNCH_FAILURE) -> None:
        """Let the launch of a group's instances fail in a way that the service retries, even for a controller.

        Raises:
            ValueError: `times` is below 1.
        """
        _plan(self._launch, group, times, LifecycleFailure(message))

    def clear(self, group: str | None = None) -> None:
        """Forget the failures of a group, or all."""
        for planned in (self._lifecycle, self._launch):
            if group is None:
                planned.clear()
            else:
                planned.pop(group, None)

    def next_lifecycle_failure(self, group: str) -> LifecycleFailure | None:
        """The failure of the next script run of a group, None when it shall succeed."""
        return _next(self._lifecycle, group)

    def next_launch_failure(self, group: str) -> LifecycleFailure | None:
        """The failure of the next launch in a group, None when it shall succeed."""
        return _next(self._launch, group)


def _plan(plans: dict[str, list[_Planned]], group: str, times: int | None, failure: LifecycleFailure) -> None:
    if times is not None and times < 1:
        raise ValueError(f"times must be 1 or more, or None for ever, got {times}")
    plans.setdefault(group, []).append(_Planned(failure, times))


def _next(plans: dict[str, list[_Planned]], group: str) -> LifecycleFailure | None:
    usable = next((planned for planned in plans.get(group, ()) if planned.left is None or planned.left > 0), None)
    return usable.use() if usable else None
