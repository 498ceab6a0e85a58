"""How a node is addressed in Systems Manager (FACTS 9, field report T-01). Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass

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
