"""Quotas of the account (FACTS 10)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hyperpod_constructs.cli.account import AccountError, Clients, call, pages

from .outcome import Check, failed, passed, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .subject import Subject

NETWORK_INTERFACES = "L-DF5E4CA3"
"""Quota code of "Network interfaces per Region" of the service VPC."""

_PER_CLUSTER = "instances allowed per sagemaker hyperpod cluster"
_IN_TOTAL = "instances allowed across sagemaker hyperpod clusters"


def quota_checks(subject: Subject, clients: Clients) -> list[Check]:
    """Every instance type "for cluster usage", the cluster's size, and the network interfaces of the region."""
    return [*_sagemaker(subject, clients), *_interfaces(subject, clients)]


def _sagemaker(subject: Subject, clients: Clients) -> list[Check]:
    client = clients.client("service-quotas")
    try:
        answers = pages("servicequotas:ListServiceQuotas", client, "list_service_quotas", ServiceCode="sagemaker")
    except AccountError as error:
        return [unknown(f"SageMaker quotas: {error}")]
    quotas = {str(one["QuotaName"]): float(one["Value"]) for answer in answers for one in answer.get("Quotas", ())}
    return [*_types(subject, quotas), *_sizes(subject, quotas)]


def _types(subject: Subject, quotas: Mapping[str, float]) -> Iterator[Check]:
    wanted: Counter[str] = Counter()
    for group in subject.groups:
        # The capacity of a training plan has been bought; of several types the first is what is wished for.
        if group.instance_types and not group.training_plan_arn:
            wanted[group.instance_types[0]] += group.count
    for name, count in wanted.items():
        quota = quotas.get(f"{name} for cluster usage")
        if quota is None:
            yield unknown(
                f'quota "{name} for cluster usage": the account lists none; look in the Service Quotas console'
            )
        elif quota < count:
            yield failed(
                f'quota "{name} for cluster usage": is {quota:g}, the cluster takes {count}; ask for an increase in '
                "Service Quotas, it can take days"
            )
        else:
            yield passed(f'Validated quota "{name} for cluster usage" {quota:g} for {count} ...')


def _sizes(subject: Subject, quotas: Mapping[str, float]) -> Iterator[Check]:
    count = sum(group.count for group in subject.groups)
    for words in (_PER_CLUSTER, _IN_TOTAL):
        found = [(name, value) for name, value in quotas.items() if words in name.lower()]
        for name, value in found:
            if value < count:
                yield failed(f'quota "{name}": is {value:g}, the cluster has {count}; ask for an increase')
            else:
                yield passed(f'Validated quota "{name}" {value:g} for {count} ...')
        if not found:
            yield unknown(f'quota "{words}": the account lists none; look in the Service Quotas console')


def _interfaces(subject: Subject, clients: Clients) -> Iterator[Check]:
    needed = sum(group.addresses for group in subject.groups)
    get_quota = clients.client("service-quotas").get_service_quota
    try:
        answer = call("servicequotas:GetServiceQuota", get_quota, ServiceCode="vpc", QuotaCode=NETWORK_INTERFACES)
    except AccountError as error:
        yield unknown(f'quota "Network interfaces per Region": {error}')
        return
    value = float(answer["Quota"]["Value"])
    if value < needed:
        yield failed(
            f'quota "Network interfaces per Region": is {value:g}, the nodes take {needed}; ask for an increase'
        )
    else:
        yield passed(f'Validated quota "Network interfaces per Region" {value:g} for {needed} ...')
