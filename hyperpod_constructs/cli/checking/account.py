"""A cluster against the account."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from .identity import caller_check, role_checks
from .network import security_group_checks, subnet_checks
from .outcome import Check, Outcome
from .storage import bucket_checks, file_system_checks

if TYPE_CHECKING:
    from hyperpod_constructs.cli.account import Clients

    from .subject import Subject

CHECKS = (subnet_checks, security_group_checks, file_system_checks, role_checks, bucket_checks)
_SERVICES = ("ec2", "fsx", "iam", "s3")


def account_checks(subject: Subject, clients: Clients) -> list[Check]:
    """Every look at the account, in the order in which the service's own validator has them.

    Args:
        subject: the cluster.
        clients: of the account.
    """
    caller = caller_check(clients)
    if caller.outcome is Outcome.UNKNOWN:
        return [caller]
    # Made here: a boto3 session is not to be shared while it makes clients, its clients are.
    for service in _SERVICES:
        clients.client(service)
    with ThreadPoolExecutor(len(CHECKS)) as pool:
        found = [*pool.map(lambda look: look(subject, clients), CHECKS)]
    return [check for checks in found for check in checks]
