"""docs/rules.md: every rule, with its id, level, words and source."""

from itertools import chain

from hyperpod_constructs import rules
from hyperpod_constructs.classic import RULE as CLASSIC_RULE
from hyperpod_constructs.config import KEY_RULE, MISSING_RULE
from hyperpod_constructs.config_rules import RULE as FILE_RULE
from hyperpod_constructs.rules.rule import Level, Rule
from hyperpod_constructs.rules.shape import RULE as KIND_RULE
from hyperpod_constructs.rules.shape import TOKEN_RULE

_INTRODUCTION = """\
<!-- Written by scripts/docs_from_code.py from hyperpod_constructs/rules. Do not edit. -->

# Rules

Everything here is checked before anything is deployed, and everything that is wrong is told at once, in one
`SpecError`.
An **error** is what the service or Slurm certainly refuses, or what certainly does not work. A **warning** is where a
person probably errs; in the CDK it is an annotation with the id `hyperpod-constructs:<rule>`, which
`Annotations.of(cluster).acknowledge_warning("hyperpod-constructs:<rule>")` silences.

"model" is the API's own model as botocore 1.44.8 ships it.
"""

_BEFORE = (
    (KIND_RULE, "Every value is of the kind that its argument takes.", "the arguments' own types"),
    (
        TOKEN_RULE,
        "What must be known at synth time is not a CDK token.",
        "a token cannot be checked",
    ),
    (KEY_RULE, "A cluster file has only keys that mean something.", "the arguments' own names"),
    (MISSING_RULE, "A cluster file has every key that is needed.", "the arguments without a default"),
    (FILE_RULE, "What a cluster file refers to is in it, and its ids and ARNs are such.", "EC2 and FSx user guides"),
    (CLASSIC_RULE, "The two files of the older form name the same groups.", "FACTS 5.7 and 7; field report V-09"),
)


def page() -> str:
    """The page."""
    return "\n".join([_INTRODUCTION, *chain(_kinds(), *(_book(book) for book in rules.BOOKS))])


def _kinds() -> list[str]:
    rows = [f"| `{rule}` | {text} | {_cell(source)} |" for rule, text, source in _BEFORE]
    return ["## Kinds of values, and files", "", "All of these are errors.", "", *_head(level=False), *rows, ""]


def _book(book: rules.RuleBook) -> list[str]:
    rows = [_row(rule) for rule in book.rules]
    return [f"## {book.title}", "", *_head(level=True), *rows, ""]


def _row(rule: Rule) -> str:
    level = "**error**" if rule.level is Level.ERROR else "warning"
    return f"| `{rule.id}` | {level} | {_cell(rule.text)} | {_cell(rule.source)} |"


def _head(*, level: bool) -> list[str]:
    names = ["rule", *(["level"] if level else []), "what it wants", "source"]
    return [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
