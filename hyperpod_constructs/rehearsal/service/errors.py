"""The errors of the service, with the codes that a client sees."""

from __future__ import annotations


class ServiceError(Exception):
    """An answer of the service that is not a success.

    Args:
        code: The error code as the wire carries it, `ValidationException` for example.
        message: The text for the caller.
        status: The HTTP status, 400 for a fault of the caller (default), 500 and above for one of the service.
    """

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status


class CallerCrash(BaseException):
    """The caller dies in the middle of a call: an injected fault, so no handler of errors may catch it."""


def validation_error(message: str) -> ServiceError:
    """The request breaks a documented rule."""
    return ServiceError("ValidationException", message)


def conflict(message: str) -> ServiceError:
    """The resource is busy with another change (FACTS 5.3, 5.4)."""
    return ServiceError("ConflictException", message)


def not_found(message: str) -> ServiceError:
    """The resource does not exist. The model's name has no `Exception` at its end (FACTS 5.3)."""
    return ServiceError("ResourceNotFound", message)


def in_use(message: str) -> ServiceError:
    """The name is taken (FACTS 5.1)."""
    return ServiceError("ResourceInUse", message)


def limit_exceeded(message: str) -> ServiceError:
    """A quota of the account is used up (FACTS 5.1, 10)."""
    return ServiceError("ResourceLimitExceeded", message)
