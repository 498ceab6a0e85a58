"""The cluster's tags once ``Tags.of()`` has reached every construct, which is after all other rules have looked."""

from dataclasses import replace

import jsii
from aws_cdk import TagManager
from constructs import IValidation

from hyperpod_constructs.rules import tags
from hyperpod_constructs.rules.rule import Case
from hyperpod_constructs.specs import ClusterSpec
from hyperpod_constructs.tokens import is_token


@jsii.implements(IValidation)
class TagsCheck:
    """Holds tags that aspects add to the same rules as those of the specification.

    Args:
        spec: the cluster.
        manager: holds the tags.
    """

    def __init__(self, spec: ClusterSpec, manager: TagManager) -> None:
        self._spec = spec
        self._manager = manager

    def validate(self) -> list[str]:
        """Called by CDK at synthesis; what is wrong, which CDK reports with the construct's path."""
        # A value that only the deployment knows counts as a tag, and its text is the service's to judge.
        values = {key: "" if is_token(value) else value for key, value in self._manager.tag_values().items()}
        case = Case(spec=replace(self._spec, tags=values))
        return [str(problem) for rule in tags.RULES.rules for problem in rule.problems(case)]
