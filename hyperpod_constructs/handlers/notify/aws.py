"""Everything that leaves the Lambda: the service's details, prices, records, messages."""

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import botocore.session
from botocore.config import Config

from .cost import price_of
from .message import Message
from .store import Store

CONFIG = Config(connect_timeout=5, read_timeout=15, retries={"mode": "standard", "total_max_attempts": 4})

MODEL_FOLDER = Path(__file__).parent.parent / "cluster" / "service_model"
"""The trimmed model of the neighbouring package, where it is shipped: the runtime's SDK may not know
DescribeClusterEvent, or drop a part of its answer that is newer than itself (field report C-23)."""

PRICE_LIST_REGION = "us-east-1"  # the Price List API has no end point in most regions


@cache
def client(service: str, region: str | None = None) -> Any:
    """The client of a service, the same one each time."""
    return _session().client(service, region_name=region, config=CONFIG)


@cache
def _session() -> Any:
    core = botocore.session.get_session()
    if MODEL_FOLDER.is_dir():
        core.get_component("data_loader").search_paths.insert(0, str(MODEL_FOLDER))
    return boto3.session.Session(botocore_session=core)


class Aws:
    """The calls, with clients that tests replace.

    Args:
        clients: by service name: ``sagemaker``, ``sns``, ``dynamodb``, ``pricing``; boto3's own for those missing.
        environment: the Lambda's.
    """

    def __init__(self, clients: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None) -> None:
        self._clients = dict(clients or {})
        self.environment = os.environ if environment is None else environment

    def event_details(self, cluster_name: str, event_id: str) -> Mapping[str, Any]:
        """DescribeClusterEvent, the only place where a failure's text can be read (field report C-05)."""
        answer = self._client("sagemaker").describe_cluster_event(ClusterName=cluster_name, EventId=event_id)
        details: Mapping[str, Any] = answer.get("EventDetails") or {}
        return details

    def group(self, cluster_name: str, group_name: str) -> Mapping[str, Any]:
        """One group of DescribeCluster; empty when the group is gone."""
        answer = self._client("sagemaker").describe_cluster(ClusterName=cluster_name)
        groups = answer.get("InstanceGroups") or []
        found = (item for item in groups if item.get("InstanceGroupName") == group_name)
        return next(found, {})

    def price(self, instance_type: str, region: str) -> float | None:
        """USD an hour: the user's own price, else the price list's; None when neither has one."""
        own = json.loads(self.environment.get("HOURLY_PRICES_USD") or "{}")
        if instance_type in own:
            return float(own[instance_type])
        filters = {"regionCode": region, "instanceName": instance_type}
        answer = self._client("pricing", PRICE_LIST_REGION).get_products(
            ServiceCode="AmazonSageMaker",
            Filters=[{"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in filters.items()],
            MaxResults=100,
        )
        return price_of(answer.get("PriceList") or (), instance_type)

    def store(self) -> Store:
        """The table of records."""
        return Store(self._client("dynamodb"), self.environment["TABLE_NAME"])

    def publish(self, message: Message) -> None:
        """Send a message to the topic."""
        self._client("sns").publish(
            TopicArn=self.environment["TOPIC_ARN"],
            Subject=message.subject,
            Message=message.by_protocol(),
            MessageStructure="json",
        )

    def _client(self, service: str, region: str | None = None) -> Any:
        return self._clients[service] if service in self._clients else client(service, region)
