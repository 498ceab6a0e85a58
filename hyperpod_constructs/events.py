"""EventBridge rules for a cluster's events, and the function that hears of them."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from aws_cdk import Acknowledgment, Duration, IgnoreMode, RemovalPolicy, Stack, Validations
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from hyperpod_constructs import assets
from hyperpod_constructs.event_patterns import EventKind, EventLevel, Pattern, event_patterns
from hyperpod_constructs.handlers.notify.permissions import RECORDS

_RUNTIME = lambda_.Runtime.PYTHON_3_13
_TIMEOUT = Duration.minutes(2)
_MEMORY_MIB = 256
_RETRIES_FOR = Duration.hours(2)


class NamedCluster(Protocol):
    """A cluster as far as rules need it."""

    @property
    def cluster_name(self) -> str:
        """The cluster's name, known at synth time."""
        ...


def add_rules(
    scope: Construct,
    cluster_name: str,
    target: events.IRuleTarget | None,
    *,
    level: EventLevel = EventLevel.ERROR,
    kinds: Sequence[EventKind] = tuple(EventKind),
) -> dict[EventKind, events.Rule]:
    """A rule for each type of event, since one pattern cannot hold the nestings of all (FACTS 8).

    Args:
        scope: where the rules are made.
        cluster_name: whose events.
        target: what is called; rules without targets count and do nothing else.
        level: the lowest that is wanted; errors only by default.
        kinds: types of event; all by default.
    """
    patterns = event_patterns(cluster_name, level, kinds)
    return {kind: add_rule(scope, _rule_id(kind), pattern, target) for kind, pattern in patterns.items()}


def add_rule(scope: Construct, id: str, pattern: Pattern, target: events.IRuleTarget | None) -> events.Rule:
    """One rule.

    Args:
        scope: where it is made.
        id: construct id.
        pattern: of :mod:`hyperpod_constructs.event_patterns`.
        target: what is called; nothing if ``None``.
    """
    return events.Rule(
        scope,
        id,
        description=f"{pattern['detail-type'][0]}s of a cluster",
        event_pattern=events.EventPattern(
            source=pattern["source"], detail_type=pattern["detail-type"], detail=pattern["detail"]
        ),
        targets=[target] if target is not None else None,
    )


def _rule_id(kind: EventKind) -> str:
    return "".join(word.capitalize() for word in kind.name.split("_"))


class EventFunction(Construct):
    """A function of the package ``notify``, with its log group, its own role and exactly the permissions it uses.

    Args:
        scope: parent construct.
        id: construct id.
        entry: name of the entry point in ``notify.index``.
        description: as the Lambda console shows it.
        topic: where its messages go.
        records: its table; see :func:`event_records`.
        reads: actions on the clusters of the account, whose ids are unknown before they exist.
        everywhere: actions that know no resources.
        environment: of the function, besides topic and table.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        entry: str,
        description: str,
        topic: sns.ITopic,
        records: dynamodb.ITable,
        reads: Sequence[str],
        everywhere: Sequence[str] = (),
        environment: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id)
        stack = Stack.of(self)
        log_group = logs.LogGroup(
            self, "Logs", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
        )
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"), description=description)
        self.function = lambda_.Function(
            self,
            "Function",
            description=description,
            runtime=_RUNTIME,
            handler=f"notify.index.{entry}",
            code=lambda_.Code.from_asset(
                str(assets.handlers()), exclude=list(assets.EXCLUDED), ignore_mode=IgnoreMode.GLOB
            ),
            role=role,
            timeout=_TIMEOUT,
            memory_size=_MEMORY_MIB,
            log_group=log_group,
            environment={"TOPIC_ARN": topic.topic_arn, "TABLE_NAME": records.table_name, **environment},
        )
        log_group.grant_write(role)
        skip_checkov(log_group, LOGS_WITHOUT_KEY)
        records.grant(role, *RECORDS)
        topic.grant_publish(role)
        clusters = stack.format_arn(service="sagemaker", resource="cluster", resource_name="*")
        role.add_to_policy(iam.PolicyStatement(actions=list(reads), resources=[clusters]))
        if everywhere:
            role.add_to_policy(iam.PolicyStatement(actions=list(everywhere), resources=["*"]))
        # A failed delivery comes again, and the records make that harmless.
        self.target = targets.LambdaFunction(self.function, retry_attempts=20, max_event_age=_RETRIES_FOR)
        _acknowledge_function(self, clusters)


def event_records(scope: Construct) -> dynamodb.ITable:
    """The table in which the functions of one cluster remember what they told; made at the first call.

    Args:
        scope: the cluster's construct.
    """
    existing = scope.node.try_find_child("EventRecords")
    if existing is not None:
        return cast("dynamodb.ITable", existing)
    table = dynamodb.Table(
        scope,
        "EventRecords",
        partition_key=dynamodb.Attribute(name="id", type=dynamodb.AttributeType.STRING),
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        encryption=dynamodb.TableEncryption.AWS_MANAGED,
        time_to_live_attribute="expires",
        removal_policy=RemovalPolicy.DESTROY,
    )
    acknowledge(table, {"AwsSolutions-DDB3": "what was told when; lost, it costs one repeated message"})
    skip_checkov(
        table,
        {
            "CKV_AWS_28": "what was told when; lost, it costs one repeated message",
            "CKV_AWS_119": "names of groups and times of messages; the AWS managed key is enough",
        },
    )
    return table


def notices_topic(scope: Construct, topic: sns.ITopic | None, emails: Sequence[str]) -> sns.ITopic:
    """The topic of a cluster's messages: yours, else one that is made at the first call, with a key of its own.

    CloudWatch cannot publish to a topic under the AWS managed key, so alarms need a key that lets it.

    Args:
        scope: the cluster's construct.
        topic: yours.
        emails: that are subscribed.
    """
    chosen = topic or scope.node.try_find_child("Notices")
    if chosen is None:
        chosen = sns.Topic(scope, "Notices", display_name="HyperPod", master_key=_notices_key(scope), enforce_ssl=True)
        chosen.grant_publish(iam.ServicePrincipal("cloudwatch.amazonaws.com"))
    result = cast("sns.ITopic", chosen)
    for email in dict.fromkeys(emails):
        result.add_subscription(cast("sns.ITopicSubscription", subscriptions.EmailSubscription(email)))
    return result


def _notices_key(scope: Construct) -> kms.Key:
    key = kms.Key(
        scope,
        "NoticesKey",
        description="Messages about a HyperPod cluster",
        enable_key_rotation=True,
        removal_policy=RemovalPolicy.DESTROY,
    )
    key.grant(iam.ServicePrincipal("cloudwatch.amazonaws.com"), "kms:Decrypt", "kms:GenerateDataKey*")
    return key


def acknowledge(construct: Construct, reasons: Mapping[str, str]) -> None:
    """Accept findings of cdk-nag on what we made ourselves, each with its reason.

    Args:
        construct: what the findings are about, or what it is in.
        reasons: by rule.
    """
    validations = Validations.of(construct)
    for rule, reason in reasons.items():
        validations.acknowledge(Acknowledgment(id=rule, reason=reason))


def as_nag_shows(scope: Construct, value: str) -> str:
    """A text as cdk-nag writes it in the id of a finding: what is known at deploy time only in angle brackets.

    Args:
        scope: any construct of the stack.
        value: may hold references to pseudo parameters.
    """
    resolved = Stack.of(scope).resolve(value)
    if isinstance(resolved, str):
        return resolved
    parts = resolved["Fn::Join"][1]
    return "".join(part if isinstance(part, str) else f"<{part['Ref']}>" for part in parts)


def skip_checkov(construct: Construct, reasons: Mapping[str, str]) -> None:
    """The same for checkov, which reads the template's metadata.

    Args:
        construct: with a default child.
        reasons: by check.
    """
    resource: Any = construct.node.default_child
    resource.add_metadata("checkov", {"skip": [{"id": check, "comment": why} for check, why in reasons.items()]})


LOGS_WITHOUT_KEY = {"CKV_AWS_158": "names and times; encrypted by CloudWatch's own key"}


def _acknowledge_function(function: EventFunction, clusters: str) -> None:
    acknowledge(
        function,
        {
            f"AwsSolutions-IAM5[Resource::{as_nag_shows(function, clusters)}]": "the function exists before the "
            "cluster, whose ARN ends in an id that is unknown until then",
            "AwsSolutions-IAM5[Resource::*]": "the price list knows no resources",
            "AwsSolutions-IAM5[Action::kms:GenerateDataKey*]": "CDK's own grant on the key of the topic",
            "AwsSolutions-L1": "the runtime that this library is tested with",
        },
    )
    skip_checkov(
        function.function,
        {
            "CKV_AWS_115": "a reserved concurrency would take from the account's; writes are on condition",
            "CKV_AWS_116": "EventBridge tries for two hours, and the function's errors raise an alarm",
            "CKV_AWS_117": "calls public AWS end points only",
            "CKV_AWS_173": "names and numbers, no secret",
        },
    )
