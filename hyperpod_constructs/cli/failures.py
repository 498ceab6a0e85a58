"""What ends a command, in one sentence and with an exit code."""

from __future__ import annotations

import os
import traceback

from hyperpod_constructs.errors import AssetError, SpecError

DONE, FAILED, WRONG_USAGE, UNKNOWN, INTERRUPTED = 0, 1, 2, 3, 130
TRACEBACK_VARIABLE = "HYPERPOD_SLURM_TRACEBACK"


class CommandError(Exception):
    """The command cannot go on; the text says what is wrong, what was got, and what to do.

    Args:
        text: for standard error.
        exit_code: 1 by default.
    """

    def __init__(self, text: str, exit_code: int = FAILED) -> None:
        self.exit_code = exit_code
        super().__init__(text)


def usage_error(text: str) -> CommandError:
    """The arguments do not fit together."""
    return CommandError(text, WRONG_USAGE)


def described(error: Exception) -> tuple[str, int]:
    """The sentence for an exception that ended a command, and the exit code.

    What is no fault of the user's has its traceback only where ``HYPERPOD_SLURM_TRACEBACK`` is set, so that a screen
    is never full of our lines.
    """
    if isinstance(error, CommandError):
        return str(error), error.exit_code
    if isinstance(error, SpecError | AssetError):
        return str(error), FAILED
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}", FAILED
    if type(error).__module__.partition(".")[0] in ("botocore", "boto3"):
        from .account import failure_of

        return str(failure_of("the call", error)), FAILED
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(error)
    return (
        f"an error of this tool, not of yours: {type(error).__name__}: {error}; please report it "
        f"({TRACEBACK_VARIABLE}=1 shows where it happened)",
        FAILED,
    )
