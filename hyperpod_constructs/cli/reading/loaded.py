"""What a command works on, whatever it was read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hyperpod_constructs.cli.checking.outcome import Check, Outcome, passed
from hyperpod_constructs.cli.failures import FAILED, CommandError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hyperpod_constructs.bindings import Bindings
    from hyperpod_constructs.errors import Problem
    from hyperpod_constructs.specs import ClusterSpec


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A cluster that was read and checked against itself.

    Attributes:
        name: of the cluster, "" where the input has none.
        source: what it was read from, for messages.
        request: the CreateCluster request in the API's casing; where the input is wrong, as far as it goes.
        checks: one for each thing that was looked at.
        spec: the specification; None where the input is a request.
        bindings: the specification's deploy-time values; None where the input is a request.
        parameters: of the classic form; None otherwise.
        properties: of the custom resource of a synthesized app; None otherwise.
        options: of a deployment, as the custom resource's Cluster property names them.
    """

    name: str
    source: str
    request: Mapping[str, Any]
    checks: Sequence[Check]
    spec: ClusterSpec | None = None
    bindings: Bindings | None = None
    parameters: Mapping[str, Any] | None = None
    properties: Mapping[str, Any] | None = None

    @property
    def is_classic(self) -> bool:
        """Whether it is the older form: two files, scripts set up Slurm."""
        return self.parameters is not None

    def must_be_sound(self) -> None:
        """Go on only with a cluster that has no error.

        Raises:
            CommandError: with every error.
        """
        errors = [check for check in self.checks if check.outcome is Outcome.FAILED]
        if errors:
            lines = [f"{self.source}: {len(errors)} problem{'' if len(errors) == 1 else 's'}"]
            lines += [f"  {check.place + ': ' if check.place else ''}{check.text}" for check in errors]
            raise CommandError("\n".join(lines), FAILED)


def checks_of(errors: Iterable[Problem], warnings: Iterable[Problem], place: Callable[[str], str]) -> list[Check]:
    """Lines for what rules found.

    Args:
        errors: certain ones.
        warnings: probable mistakes.
        place: gives file, line and column of a problem's path.
    """
    found = []
    for outcome, problems in ((Outcome.FAILED, errors), (Outcome.WARNING, warnings)):
        for problem in problems:
            found.append(Check(outcome=outcome, text=str(problem), rule=problem.rule, place=place(problem.path)))
    return found


def group_checks(names: Sequence[str], wrong: Iterable[str]) -> list[Check]:
    """One line for each group about which nothing is wrong, in the words of the service's own validator."""
    bad = set(wrong)
    return [passed(f"Validated instance group name {name} is correct ...") for name in names if name not in bad]
