"""How a cluster comes to be: on_event looks whether the name is free, and the first poll creates.

Creating in a poll leaves no orphan. The Provider answers a Create whose on_event died, or whose waiter could not be
started, with a marker for a physical id, and swallows the Delete that follows (aws-cdk, provider-framework/runtime,
cfn-response.ts and framework.ts). Once on_event has answered, the physical id is the cluster's name, and whatever fails
or dies later is followed by a Delete that reaches us.
"""

from typing import Any

from .aws import Aws
from .errors import ChangeRefusedError, DeniedError, NameTakenError, UnclearError
from .events import Event, Progress, wanted
from .log import log
from .observed import Cluster
from .ownership import owner_tags, owns, taken_text
from .plan import Calls, Refusal, plan
from .properties import Properties
from .services import Services
from .waiting import expected_counts

CREATE_CLUSTER = "CreateCluster"


def create(event: Event, services: Services) -> Progress:
    """Leave the creation to the first poll; refuse a name that is taken while there is no physical id yet.

    A name that is taken is adopted when both owner tags are this event's, which is a repeated delivery.

    Raises:
        ChangeRefusedError: the name belongs to somebody else, or its cluster is still being deleted.
    """
    desired, started_at = wanted(event), services.now()
    try:
        cluster, tags = services.aws.patiently(lambda: with_tags(services.aws, desired.name))
    except (UnclearError, DeniedError) as error:
        # A new permission may not be known everywhere yet. The polls look again before they create; to fail here would
        # answer a repeated delivery with the marker.
        log("name not looked up", error=str(error))
        cluster, tags = None, {}
    if cluster is None:
        return Progress(started_at=started_at, pending=(CREATE_CLUSTER,), expected=expected_counts(desired.groups))
    if not owns(event.owner, tags):
        raise ChangeRefusedError([taken_text(desired.name, event.owner, tags)])
    if cluster.status == "Deleting":
        raise ChangeRefusedError([f"the cluster {desired.name} is still being deleted; deploy again when it is gone"])
    log("cluster adopted", name=desired.name, arn=cluster.arn)
    return Progress(started_at=started_at, cluster_arn=cluster.arn, notes=_adoption_notes(desired, cluster))


def start_creation(event: Event, services: Services) -> None:
    """Create the cluster that a poll did not find.

    Raises:
        ChangeRefusedError: somebody else took the name since on_event looked.
        UnclearError: whether it was created is unknown; the next poll looks.
        ServiceError: the service refused; nothing was created.
    """
    desired = wanted(event)
    try:
        arn = services.aws.create(create_request(desired, event))
    except NameTakenError:
        # Ours when a repeated delivery or an unanswered call made it, and not visible yet.
        cluster, tags = with_tags(services.aws, desired.name)
        if cluster is not None and not owns(event.owner, tags):
            raise ChangeRefusedError([taken_text(desired.name, event.owner, tags)]) from None
    else:
        log("cluster created", name=desired.name, arn=arn)


def create_request(desired: Properties, event: Event) -> dict[str, Any]:
    """The whole CreateCluster request: the groups in order, the user's tags and the owner's."""
    tags = {**desired.tags, **owner_tags(event.owner)}
    return {
        **desired.request,
        "InstanceGroups": list(desired.groups.values()),
        "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
    }


def with_tags(aws: Aws, name: str) -> tuple[Cluster | None, dict[str, str]]:
    """A cluster and its tags; None and nothing when there is none."""
    cluster = aws.describe(name)
    return cluster, aws.tags(cluster.arn) if cluster else {}


def _adoption_notes(desired: Properties, cluster: Cluster) -> tuple[str, ...]:
    """A repeated Create makes no call but the first; where the cluster differs is told."""
    if not isinstance(plan(desired, desired, cluster), Calls | Refusal):
        return ()
    return (f"the cluster {cluster.name} was there already and differs from the template; update it to change that",)
