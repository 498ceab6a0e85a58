"""What the tests of observability share: EventBridge's matching, recorded events, services around the functions."""

import fnmatch
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hyperpod_constructs.handlers.notify.aws import Aws
from hyperpod_constructs.handlers.notify.permissions import GUARD_READS, PRICES, READS, RECORDS
from hyperpod_constructs.rehearsal.service import HyperPodService, LocalClient

SAMPLES = Path(__file__).parent / "samples"
CLUSTER = "llm-training"
ENVIRONMENT = {
    "TABLE_NAME": "records",
    "TOPIC_ARN": "arn:aws:sns:us-east-1:123456789012:notices",
    "QUIET_MINUTES": "60",
    "FAILURES": "3",
    "WINDOW_MINUTES": "60",
    "REMIND_MINUTES": "240",
}


def sample(name: str, **renamed: str) -> dict[str, Any]:
    """A recorded event; names in it replaced, such as ``sample("node_health", **{"sample-cluster": "mine"})``."""
    text = (SAMPLES / f"{name}.json").read_text(encoding="utf-8")
    for old, new in renamed.items():
        text = text.replace(old, new)
    event: dict[str, Any] = json.loads(text)
    return event


def matches(pattern: Mapping[str, Any], event: Mapping[str, Any]) -> bool:
    """Whether EventBridge would take the event, for the operators that our patterns use.

    Source: EventBridge user guide, "comparison operators" and "how patterns match": every field of the pattern must
    match, one of the listed values is enough, what the pattern leaves out is ignored.
    """
    alternatives = pattern.get("$or")
    if alternatives is not None and not any(matches(item, event) for item in alternatives):
        return False
    return all(_field(wanted, event.get(name)) for name, wanted in pattern.items() if name != "$or")


def _field(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and matches(wanted, value)
    values = value if isinstance(value, list) else [value]
    return any(_value(item, one) for item in wanted for one in values)


def _value(wanted: Any, value: Any) -> bool:
    if not isinstance(wanted, Mapping):
        return bool(wanted == value)
    ((operator, argument),) = wanted.items()
    if operator == "anything-but":
        return value is not None and value not in argument
    if operator == "wildcard":
        return isinstance(value, str) and fnmatch.fnmatchcase(value, argument)
    raise AssertionError(f"an operator that this matcher does not know: {operator}")


class Table:
    """DynamoDB as far as the records need it: consistent reads, and writes on condition."""

    class ConditionalCheckFailedException(Exception):  # noqa: N818  the SDK's name
        """Somebody else wrote first."""

    def __init__(self) -> None:
        self.exceptions = SimpleNamespace(ConditionalCheckFailedException=self.ConditionalCheckFailedException)
        self.items: dict[str, dict[str, Any]] = {}
        self.before_write: list[Callable[[], object]] = []

    def get_item(self, *, TableName: str, Key: Mapping[str, Any], ConsistentRead: bool) -> dict[str, Any]:  # noqa: N803
        assert (TableName, ConsistentRead) == ("records", True)
        item = self.items.get(Key["id"]["S"])
        return {"Item": dict(item)} if item else {}

    def put_item(
        self,
        *,
        TableName: str,  # noqa: N803
        Item: Mapping[str, Any],  # noqa: N803
        ConditionExpression: str,  # noqa: N803
        ExpressionAttributeValues: Mapping[str, Any],  # noqa: N803
    ) -> None:
        assert TableName == "records"
        assert ConditionExpression == "attribute_not_exists(id) OR version = :read"
        if self.before_write:
            self.before_write.pop()()
        old = self.items.get(Item["id"]["S"])
        if old is not None and old["version"] != ExpressionAttributeValues[":read"]:
            raise self.ConditionalCheckFailedException
        self.items[Item["id"]["S"]] = dict(Item)


class Topic:
    """SNS: what was published, with the limits of the API."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.failures = 0

    def publish(self, *, TopicArn: str, Subject: str, Message: str, MessageStructure: str) -> None:  # noqa: N803
        if self.failures:
            self.failures -= 1
            raise RuntimeError("the topic does not answer")
        assert TopicArn == ENVIRONMENT["TOPIC_ARN"]
        assert MessageStructure == "json"
        assert len(Subject) < 100
        assert Subject.isascii()
        assert "\n" not in Subject
        assert len(Message.encode()) <= 256 * 1024
        self.messages.append({"subject": Subject, **json.loads(Message)})

    @property
    def texts(self) -> list[str]:
        return [str(message["default"]) for message in self.messages]


class Pricing:
    """The price list; empty unless products are given."""

    def __init__(self, *products: Mapping[str, Any]) -> None:
        self.products = [json.dumps(item) for item in products]

    def get_products(self, *, ServiceCode: str, Filters: list[Any], MaxResults: int) -> dict[str, Any]:  # noqa: N803
        assert ServiceCode == "AmazonSageMaker"
        assert MaxResults <= 100
        return {"PriceList": self.products}


class Allowed:
    """A client that may only do what the table of permissions says."""

    def __init__(self, service: str, client: Any, actions: tuple[str, ...]) -> None:
        self._service, self._client = service, client
        self._methods = {action.partition(":")[2].lower() for action in actions if action.startswith(service + ":")}
        self.exceptions = getattr(client, "exceptions", None)

    def __getattr__(self, name: str) -> Any:
        if name.replace("_", "") not in self._methods:
            raise AssertionError(f"{self._service}: {name} is not in the table of permissions")
        return getattr(self._client, name)


class World:
    """A cluster at the service of the rehearsal, and the functions that hear of its events."""

    def __init__(self, service: HyperPodService | None, **environment: str) -> None:
        self.service = service
        self.table, self.topic, self.pricing = Table(), Topic(), Pricing()
        sagemaker = LocalClient(service) if service else SimpleNamespace()
        actions = READS + GUARD_READS + PRICES + RECORDS
        self.aws = Aws(
            {
                "sagemaker": Allowed("sagemaker", sagemaker, actions),
                "pricing": Allowed("pricing", self.pricing, actions),
                "dynamodb": Allowed("dynamodb", self.table, actions),
                "sns": self.topic,
            },
            ENVIRONMENT | environment,
        )
        self._delivered: set[str] = set()

    def new_events(self, cluster_name: str = CLUSTER) -> list[dict[str, Any]]:
        """The events since the last call as EventBridge would deliver them: failure messages null (FACTS 8)."""
        assert self.service is not None
        events = []
        cluster = self.service.context.find_cluster(cluster_name)
        for event in cluster.events:
            if event.event_id not in self._delivered:
                self._delivered.add(event.event_id)
                events.append(envelope(event, cluster.arn, cluster.name))
        return events


def envelope(event: Any, cluster_arn: str, cluster_name: str) -> dict[str, Any]:
    """A recorded event of the service in EventBridge's envelope."""
    metadata = None
    if event.metadata:
        subtree, members = event.metadata
        metadata = {subtree: {**members, "FailureMessage": None} if "FailureMessage" in members else dict(members)}
    details = {
        "EventId": event.event_id,
        "ClusterArn": cluster_arn,
        "ClusterName": cluster_name,
        "InstanceGroupName": event.group,
        "InstanceId": event.instance_id,
        "ResourceType": event.resource_type,
        "EventTime": int(event.time * 1000),
        "EventLevel": event.level,
        "Description": event.description,
        "EventDetails": {"EventMetadata": metadata},
    }
    return {
        "version": "0",
        "id": f"bridge-{event.event_id}",
        "detail-type": "SageMaker HyperPod Cluster Event",
        "source": "aws.sagemaker",
        "account": "123456789012",
        "time": datetime.fromtimestamp(event.time, tz=UTC).isoformat().replace("+00:00", "Z"),
        "region": "us-east-1",
        "resources": [cluster_arn],
        "detail": {"EventDetails": details},
    }
