"""How a node is addressed in Systems Manager (FACTS 9, field report T-01)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hyperpod_constructs.cli.account import Clients

SSH_DOCUMENT = "AWS-StartSSHSession"
COMMAND_DOCUMENT = "AWS-StartNonInteractiveCommand"
INTERACTIVE_DOCUMENT = "AWS-StartInteractiveCommand"


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """A node as a session's target.

    Attributes:
        cluster_id: the twelve characters at the end of the cluster's ARN.
        group: instance group.
        instance_id: of the node.
        region: always said, whatever the environment is when the command runs.
        profile: likewise; None for the default credentials.
    """

    cluster_id: str
    group: str
    instance_id: str
    region: str
    profile: str | None = None

    @property
    def name(self) -> str:
        """The target of StartSession."""
        return f"sagemaker-cluster:{self.cluster_id}_{self.group}-{self.instance_id}"

    def session_command(self, document: str | None = None, parameters: dict[str, list[str]] | None = None) -> list[str]:
        """The AWS CLI's words for a session.

        Args:
            document: of Systems Manager; a shell by default.
            parameters: of the document.
        """
        words = ["aws", "ssm", "start-session", "--target", self.name]
        words += ["--document-name", document] if document else []
        words += ["--parameters", json.dumps(parameters)] if parameters else []
        words += ["--region", self.region]
        return [*words, "--profile", self.profile] if self.profile else words

    def proxy_words(self) -> list[str]:
        """The words of an SSH ProxyCommand; ``%p`` is SSH's own."""
        words = ["aws", "ssm", "start-session", "--target", self.name, "--document-name", SSH_DOCUMENT]
        words += ["--parameters", "portNumber=%p", "--region", self.region]
        return [*words, "--profile", self.profile] if self.profile else words


def target_of(clients: Clients, name: str, node: str) -> Target:
    """The node that a word means, looked up.

    Args:
        clients: of the account.
        name: of the cluster.
        node: as :func:`hyperpod_constructs.cli.live.choice.chosen` takes it; ``login`` means the controller where
            there is no login group.

    Raises:
        CommandError: there is no such cluster or node.
    """
    from hyperpod_constructs.cli.live.choice import chosen
    from hyperpod_constructs.cli.live.cluster import describe, nodes

    cluster = describe(clients, name)
    kinds = {group.node_type for group in cluster.groups.values()}
    wanted = "controller" if node == "login" and "Login" not in kinds and node not in cluster.groups else node
    found = chosen(wanted, cluster, nodes(clients, cluster))
    return Target(
        cluster_id=cluster.cluster_id,
        group=found.group,
        instance_id=found.instance_id,
        region=clients.region,
        profile=clients.profile,
    )
