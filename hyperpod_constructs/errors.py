"""The exceptions of this library.

ValueError
 └─ SpecError        bad input, every problem at once
RuntimeError
 └─ AssetError       files that belong to this package cannot be found
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Problem:
    """One thing wrong with the input, in words.

    Attributes:
        path: where it is, as the user wrote it: ``compute[1].partition``.
        message: what is wrong, the value got, what is allowed, what to do.
        rule: stable id of the rule that found it, as listed in docs/rules.md.
    """

    path: str
    message: str
    rule: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


_SHOWN_PROBLEMS = 40


class SpecError(ValueError):
    """The input cannot become a cluster. Lists every problem that was found, not only the first.

    The text shows the first 40; ``problems`` holds all of them.

    Args:
        problems: what was found, in the order of the input.
        subject: what was checked, for the first line of the text.

    Example:
        >>> print(SpecError([Problem(path="cluster_name", message='got "a_b"; ...')], subject='cluster "a_b"'))
        cluster "a_b": 1 problem
          cluster_name: got "a_b"; ...
    """

    def __init__(self, problems: Iterable[Problem], *, subject: str = "cluster specification") -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        self.subject = subject
        count = len(self.problems)
        lines = [f"{subject}: {count} problem{'' if count == 1 else 's'}"]
        lines += [f"  {problem}" for problem in self.problems[:_SHOWN_PROBLEMS]]
        if count > _SHOWN_PROBLEMS:
            lines.append(f"  ... and {count - _SHOWN_PROBLEMS} more, in the attribute problems of this error")
        super().__init__("\n".join(lines))


class AssetError(RuntimeError):
    """Files that ship with this package are missing: a broken installation, never the user's input."""
