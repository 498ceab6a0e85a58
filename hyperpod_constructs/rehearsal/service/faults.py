"""Faults of single calls: throttling, errors of the service, refused access, a caller that dies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .errors import CallerCrash, ServiceError, validation_error

When = Literal["before", "after"]
ANY = "*"

NAMED_ERRORS = {
    "throttling": ServiceError("ThrottlingException", "Rate exceeded"),
    "internal": ServiceError("InternalFailure", "An internal failure occurred while processing the request.", 500),
    "unavailable": ServiceError("ServiceUnavailable", "The request has failed due to a temporary failure.", 503),
    "access_denied": ServiceError(
        "AccessDeniedException",
        "User: arn:aws:sts::123456789012:assumed-role/handler is not authorized to perform this action",
    ),
}
"""Short names of errors that any call can meet (the common errors of the API)."""

IAM_NOT_PROPAGATED = (
    "Unable to retrieve subnets. Please ensure that the execution role exists and that its permissions are sufficient."
)
"""What a cluster's creation answers while its new role is not yet known everywhere (field report C-19)."""


@dataclass
class _Fault:
    operation: str
    error: ServiceError | CallerCrash
    left: int | None
    when: When

    def strikes(self, operation: str, when: When) -> bool:
        return self.when == when and self.operation in (ANY, operation) and self.left != 0

    def use(self) -> ServiceError | CallerCrash:
        if self.left is not None:
            self.left -= 1
        return self.error


@dataclass
class Faults:
    """The faults to come. Each call takes the first that fits."""

    _faults: list[_Fault] = field(default_factory=list)

    def add(
        self,
        operation: str,
        error: ServiceError | CallerCrash | str,
        times: int | None = 1,
        when: When = "before",
    ) -> None:
        """Let calls fail.

        Args:
            operation: The operation's name, or `*` for any.
            error: A `ServiceError`, or one of throttling, internal, unavailable, access_denied, crash.
            times: How many calls; None for all.
            when: `before` the call has any effect (default), or `after` it had it, so that only the answer is lost.

        Raises:
            ValueError: The error's name is unknown, `times` is below 1 or `when` is neither.
        """
        if times is not None and times < 1:
            raise ValueError(f"times must be 1 or more, or None for all calls, got {times}")
        if when not in ("before", "after"):
            raise ValueError(f"when must be 'before' or 'after', got {when!r}")
        self._faults.append(_Fault(operation, _error_of(error), times, when))

    def iam_not_propagated(self, times: int = 5, message: str = IAM_NOT_PROPAGATED) -> None:
        """Let the next creations of a cluster fail as they do right after their role was made (C-19)."""
        self.add("CreateCluster", validation_error(message), times)

    def clear(self) -> None:
        """Forget all faults."""
        self._faults.clear()

    def strike(self, operation: str, when: When) -> None:
        """Raise the fault that is due for this call, if any."""
        fault = next((fault for fault in self._faults if fault.strikes(operation, when)), None)
        if fault:
            raise fault.use()


def _error_of(error: ServiceError | CallerCrash | str) -> ServiceError | CallerCrash:
    if not isinstance(error, str):
        return error
    if error == "crash":
        return CallerCrash("the caller died")
    if error not in NAMED_ERRORS:
        raise ValueError(
            f"unknown error {error!r}, give one of {', '.join([*NAMED_ERRORS, 'crash'])} or a ServiceError"
        )
    return NAMED_ERRORS[error]
