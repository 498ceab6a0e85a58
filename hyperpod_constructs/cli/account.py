"""The AWS account: clients made at first use, and what failed said in words. botocore is imported when it is used."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from .failures import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable

ProfileOption = Annotated[
    str | None, typer.Option("--profile", help="Profile of the AWS configuration (default: $AWS_PROFILE).")
]
RegionOption = Annotated[
    str | None, typer.Option("--region", help="AWS region (default: $AWS_REGION, or the profile's).")
]

_CONNECT_SECONDS, _READ_SECONDS, _ATTEMPTS = 5, 30, 4


class Kind(Enum):
    """What kind of failure a call ended with."""

    DENIED = "denied"
    NOT_FOUND = "not found"
    CREDENTIALS = "credentials"
    UNREACHABLE = "unreachable"
    THROTTLED = "throttled"
    REFUSED = "refused"


class AccountError(CommandError):
    """A call failed.

    Attributes:
        kind: of failure.
        operation: the API's name of the call.
        detail: the service's words.
    """

    def __init__(self, kind: Kind, operation: str, detail: str, text: str) -> None:
        self.kind, self.operation, self.detail = kind, operation, detail
        super().__init__(text)


class Clients(Protocol):
    """What commands need of an account. Tests put their own in its place."""

    @property
    def region(self) -> str:
        """The region of all calls."""
        ...

    @property
    def profile(self) -> str | None:
        """The profile that was asked for; None for the default."""
        ...

    def client(self, service: str) -> Any:
        """A boto3 client, or what answers like one."""
        ...


@dataclass
class BotoClients:
    """boto3's clients.

    Args:
        session: a boto3 session.
        profile: the profile that was asked for.
    """

    session: Any
    profile: str | None
    _made: dict[str, Any] = field(default_factory=dict)
    # A boto3 session is not to be shared while it makes clients; its clients are.
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def region(self) -> str:
        """The region of all calls."""
        return str(self.session.region_name)

    def client(self, service: str) -> Any:
        """The client of a service, the same one each time."""
        from botocore.config import Config

        with self._lock:
            if service not in self._made:
                config = Config(
                    connect_timeout=_CONNECT_SECONDS,
                    read_timeout=_READ_SECONDS,
                    retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
                    user_agent_extra="hyperpod-slurm",
                )
                self._made[service] = self.session.client(service, config=config)
            return self._made[service]


def connect(profile: str | None, region: str | None) -> Clients:
    """The account that the options and the environment name.

    Raises:
        AccountError: there is no such profile or region, or none is configured. Credentials are looked for by the
            first call, not here.
    """
    import boto3
    from botocore.exceptions import BotoCoreError

    # boto3 knows AWS_DEFAULT_REGION only; other tools, and Lambda, say AWS_REGION.
    region = region or os.environ.get("AWS_REGION") or None
    try:
        session = boto3.session.Session(profile_name=profile, region_name=region)
        name = session.region_name
        known = set(session.get_available_regions("sagemaker")) if name else set()
    except BotoCoreError as error:
        raise failure_of("the AWS configuration", error) from None
    if not name:
        detail = "no region is configured; give --region, or set AWS_REGION"
        raise AccountError(Kind.CREDENTIALS, "", detail, detail)
    if not _is_region(name, known):
        detail = f"got the region {name!r}; allowed: a region such as us-east-1; check --region and AWS_REGION"
        raise AccountError(Kind.UNREACHABLE, "", detail, detail)
    # Said explicitly where commands are written down for later, when the environment may be another.
    return BotoClients(session, profile or os.environ.get("AWS_PROFILE") or None)


def _is_region(name: str, known: set[str]) -> bool:
    """Listed by the SDK, or of the right form for a newer one."""
    import re

    return name in known or re.fullmatch(r"[a-z]{2,}(-[a-z]+)+-\d", name) is not None


def call(operation: str, method: Callable[..., Any], /, **request: Any) -> dict[str, Any]:
    """One call.

    Args:
        operation: the API's name, with the service for the permission: ``ec2:DescribeSubnets``.
        method: the client's method.
        request: of the call.

    Raises:
        AccountError: in words, for everything that botocore raises.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        answer: dict[str, Any] = method(**request)
    except (BotoCoreError, ClientError) as error:
        raise failure_of(operation, error) from None
    return answer


def pages(operation: str, client: Any, method: str, /, **request: Any) -> list[dict[str, Any]]:
    """Every page of a call that has pages.

    Raises:
        AccountError: as :func:`call`.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return list(client.get_paginator(method).paginate(**request))
    except (BotoCoreError, ClientError) as error:
        raise failure_of(operation, error) from None


_DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError", "Forbidden", "403")
_CREDENTIALS = (
    *("ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException", "AuthFailure"),
    *("RequestExpired", "SignatureDoesNotMatch", "InvalidSignatureException", "IncompleteSignature"),
)
_THROTTLED = (
    *("Throttling", "ThrottlingException", "ThrottledException", "RequestLimitExceeded", "TooManyRequestsException"),
    *("SlowDown", "RequestThrottled", "PriorRequestNotComplete"),
)
_NOT_FOUND = ("NoSuch", "NotFound", "404")


def failure_of(operation: str, error: Exception) -> AccountError:
    """What a botocore exception means, in words."""
    answer = getattr(error, "response", {}).get("Error", {})
    code, detail = str(answer.get("Code", "")), str(answer.get("Message", "") or error)
    name = type(error).__name__
    kind = _kind(code.rsplit("#", 1)[-1], name)
    words = {
        Kind.DENIED: f"not allowed: needs the permission {operation}",
        Kind.CREDENTIALS: f"{_credential_words(code, name)}: {detail.rstrip('.')}; log in again, or give --profile",
        Kind.UNREACHABLE: f"{operation}: no answer from AWS ({_brief(detail)}); check the network and --region",
        Kind.THROTTLED: f"{operation}: AWS answered only that there are too many requests; try again in a minute",
    }
    return AccountError(kind, operation, detail, words.get(kind) or f"{operation}: {_brief(detail)}")


def _kind(code: str, name: str) -> Kind:
    if code in _DENIED:
        return Kind.DENIED
    if code in _CREDENTIALS or "Credential" in name or "Token" in name or "SSO" in name or name == "ProfileNotFound":
        return Kind.CREDENTIALS
    if code in _THROTTLED:
        return Kind.THROTTLED
    if any(part in code for part in _NOT_FOUND):
        return Kind.NOT_FOUND
    if not code and name != "ParamValidationError":
        return Kind.UNREACHABLE
    return Kind.REFUSED


def _credential_words(code: str, name: str) -> str:
    if name == "ProfileNotFound":
        return "no such profile"
    return "the credentials are not valid" if code else "no credentials"


def _brief(text: str) -> str:
    """On one line, and short enough for one."""
    line = " ".join(text.split())
    return line if len(line) <= 300 else f"{line[:297]}..."
