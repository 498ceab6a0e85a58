"""Runs steps in order: one log line each, a bound for each and for all, a summary file."""

import json
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from types import FrameType

from nodelib.errors import DeferredError, LifecycleError, StepError, StepOverdueError
from nodelib.step import Context, Step

SUMMARY_FILE = "/var/log/provision/lifecycle_summary.json"
# Of steps that were run by name, by a person or a timer: what happened at provisioning stays readable.
RERUN_SUMMARY_FILE = "/var/log/provision/lifecycle_rerun_summary.json"
# The service documents no limit for scripts; a node that hangs is billed all the while (field report L-22).
TOTAL_TIMEOUT_SECONDS = 18 * 60.0


SHOWN_CHANGES = 6


@dataclass(frozen=True)
class StepResult:
    """How a step ended: ``ok``, ``failed``, ``passed_over`` (optional and failed) or ``deferred``.

    ``processes`` counts the commands that it started.
    """

    step: str
    outcome: str
    seconds: float
    changed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    processes: int = 0

    def line(self, position: str) -> str:
        """The step's log line."""
        words = {"ok": "ok", "failed": "FAILED", "passed_over": "failed, optional", "deferred": "deferred"}
        more = f" and {len(self.changed) - SHOWN_CHANGES} more" if len(self.changed) > SHOWN_CHANGES else ""
        shown = [f"changed: {', '.join(self.changed[:SHOWN_CHANGES])}{more}"] if self.changed else []
        parts = [*self.remarks, *shown]
        ending = f": {'; '.join(parts)}" if parts else ""
        return f"[{position}] {self.step}: {words[self.outcome]} in {self.seconds:.2f} s{ending}"


class Engine:
    """Runs the steps of one node.

    Args:
        context: what steps are given.
        log: takes one line.
        summary_file: where the JSON summary goes.
        total_timeout_seconds: bound for all steps together.
    """

    def __init__(
        self,
        context: Context,
        log: Callable[[str], None],
        summary_file: str = SUMMARY_FILE,
        total_timeout_seconds: float = TOTAL_TIMEOUT_SECONDS,
    ) -> None:
        self._context = context
        self._log = log
        self._summary_file = summary_file
        self._end = context.clock.monotonic() + total_timeout_seconds

    def run(self, steps: Sequence[Step]) -> list[StepResult]:
        """Run the steps until the end or until a required one fails; write the summary either way."""
        results: list[StepResult] = []
        for number, step in enumerate(steps, 1):
            result = self._run_step(step)
            results.append(result)
            for line in self._context.output:
                self._log(f"  {step.name} | {line}")
            self._log(result.line(f"{number}/{len(steps)}"))
            if result.outcome == "failed":
                break
        self._write_summary(results)
        return results

    def _run_step(self, step: Step) -> StepResult:
        context, start = self._context, self._context.clock.monotonic()
        context.notes, context.output, known = [], [], len(context.files.changed)
        processes = context.runner.count
        outcome = "ok"
        try:
            with time_limit(min(step.timeout_seconds, self._end - start), step.name):
                step.run(context)
        except DeferredError as error:
            outcome = "deferred"
            context.note(str(error))
        except (LifecycleError, OSError) as error:
            outcome = "failed" if step.required else "passed_over"
            context.note(str(error) or type(error).__name__)
        seconds = round(context.clock.monotonic() - start, 3)
        return StepResult(
            step.name,
            outcome,
            seconds,
            tuple(context.files.changed[known:]),
            tuple(context.notes),
            context.runner.count - processes,
        )

    def _write_summary(self, results: Sequence[StepResult]) -> None:
        identity = self._context.identity
        summary = {
            "version": 1,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "succeeded": all(result.outcome != "failed" for result in results),
            "style": self._context.style,
            "node_type": identity.group.node_type,
            "instance_group": identity.group.name,
            "instance_id": identity.instance_id,
            "scripts": str(self._context.scripts),
            "steps": [asdict(result) for result in results],
        }
        known = len(self._context.files.changed)
        try:
            self._context.files.write(self._summary_file, json.dumps(summary, indent=2) + "\n")
        except StepError as error:
            # A full disk must not hide the result of the steps.
            self._log(f"no summary: {error}")
        del self._context.files.changed[known:]


@contextmanager
def time_limit(seconds: float, name: str) -> Iterator[None]:
    """Raise in the main thread when a step is late, whatever it is waiting for."""

    def late(_signal: int, _frame: FrameType | None) -> None:
        raise StepOverdueError(f"{name} was not done after {seconds:g} s")

    if seconds <= 0:
        raise StepOverdueError(f"no time left for {name}: all steps together took too long")
    previous = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
