"""A cluster against the account: the looks of ``validate`` and those of ``preflight``, side by side in time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from hyperpod_constructs.cli.account import Clients

from .identity import caller_check, role_checks
from .network import security_group_checks, subnet_checks
from .offers import offer_checks, training_plan_checks
from .outcome import Check, Outcome
from .quotas import quota_checks
from .storage import bucket_checks, file_system_checks
from .subject import Subject
from .tools import bootstrap_check, linked_role_check, sdk_check

Look = Callable[[Subject, Clients], list[Check]]

VALIDATION: tuple[Look, ...] = (subnet_checks, security_group_checks, file_system_checks, role_checks, bucket_checks)
PREFLIGHT: tuple[Look, ...] = (
    quota_checks,
    offer_checks,
    subnet_checks,
    training_plan_checks,
    linked_role_check,
    sdk_check,
    bootstrap_check,
)


def account_checks(subject: Subject, clients: Clients, looks: tuple[Look, ...] = VALIDATION) -> list[Check]:
    """Every look at the account, told in their order.

    Args:
        subject: the cluster.
        clients: of the account.
        looks: those of validation, in the order in which the service's own validator has them, by default.
    """
    caller = caller_check(clients)
    if caller.outcome is Outcome.UNKNOWN:
        return [caller]
    with ThreadPoolExecutor(len(looks)) as pool:
        found = [*pool.map(lambda look: look(subject, clients), looks)]
    return [check for checks in found for check in checks]
