"""The exceptions of the handler. The text of each one becomes the reason in the stack event.

HandlerError
 ├─ MalformedEventError   what CloudFormation delivered cannot be read
 ├─ ChangeRefusedError    the wanted change cannot or must not be made; says what to do
 ├─ ClusterFailedError    the cluster failed, or was not ready in time
 ├─ UnsuitableSdkError    the SDK of this Lambda cannot do what is needed
 └─ ServiceError          an AWS service said no
     ├─ NotFoundError     there is no such cluster
     ├─ ConflictError     not now: another operation is in progress
     ├─ NameTakenError    a cluster of this name exists
     ├─ DeniedError       the handler's role lacks a permission
     └─ UnclearError      throttled, unavailable or unreachable: whether the call took effect is unknown
"""

from collections.abc import Iterable


class HandlerError(Exception):
    """Base of all errors whose text is meant for the stack event."""


class MalformedEventError(HandlerError):
    """The event or its properties cannot be read; lists every problem found."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("the properties of the custom resource cannot be read: " + "; ".join(self.problems))


class ChangeRefusedError(HandlerError):
    """Nothing was called. Lists every reason, each with what to do."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class ClusterFailedError(HandlerError):
    """The cluster did not become what was asked."""


class UnsuitableSdkError(HandlerError):
    """The SDK of the Lambda runtime does not know the operations or fields that are needed."""


class ServiceError(HandlerError):
    """An AWS call failed.

    Attributes:
        operation: the API's name of the call, such as ``UpdateCluster``.
        code: the service's error code, or the exception's name when there was no answer.
        detail: the service's message.
    """

    def __init__(self, operation: str, code: str, detail: str) -> None:
        self.operation = operation
        self.code = code
        self.detail = detail
        super().__init__(f"{operation}: {code}: {detail}")


class NotFoundError(ServiceError):
    """There is no such cluster."""


class ConflictError(ServiceError):
    """The cluster is busy with another operation."""


class NameTakenError(ServiceError):
    """A cluster of this name exists already."""


class DeniedError(ServiceError):
    """The role of the handler may not do this."""


class UnclearError(ServiceError):
    """No definite answer: throttled, an error of the service, or no connection."""
