"""Rules of the cluster's tags."""

from collections.abc import Iterator

from hyperpod_constructs import limits, reserved
from hyperpod_constructs.rules.rule import Case, Finding, RuleBook, repeated, shown

RULES = RuleBook("Tags")


@RULES.error("tag-key", "model TagKey; FACTS 10")
def tag_key(case: Case) -> Iterator[Finding]:
    """A tag's key has 1 to 128 letters, digits, spaces and _ . : / = + - @, and does not begin with aws:."""
    for key, _ in case.spec.tag_pairs:
        if not 1 <= len(key) <= limits.TAG_KEY_MAXIMUM:
            advice = "shorten it" if key else "give the tag a key"
            yield _path(key), f"got a key of {len(key)} characters, allowed: 1 to {limits.TAG_KEY_MAXIMUM}; {advice}"
        elif not limits.is_tag_text(key):
            yield _path(key), f"got the key {shown(key)}, allowed: {limits.TAG_WORDS}; take out the other characters"
        elif key.lower().startswith("aws:"):
            yield _path(key), f"got the key {shown(key)}, allowed: no key of AWS's own prefix aws:; choose another"


@RULES.error("tag-value", "model TagValue; FACTS 10")
def tag_value(case: Case) -> Iterator[Finding]:
    """A tag's value has at most 256 letters, digits, spaces and _ . : / = + - @."""
    for key, value in case.spec.tag_pairs:
        if len(value) > limits.TAG_VALUE_MAXIMUM:
            yield (
                _path(key),
                f"got a value of {len(value)} characters, allowed: at most {limits.TAG_VALUE_MAXIMUM}; shorten it",
            )
        elif not limits.is_tag_text(value):
            yield (
                _path(key),
                f"got the value {shown(value)}, allowed: {limits.TAG_WORDS}; take out the other characters",
            )


@RULES.error("tags-maximum", "model TagList; DESIGN decision 9")
def tags_maximum(case: Case) -> Iterator[Finding]:
    """A cluster has at most 46 tags of the user's, for four of the service's 50 are the custom resource's."""
    allowed = limits.TAGS_MAXIMUM - limits.OWN_TAGS_MAXIMUM
    count = len(case.spec.tag_pairs)
    if count > allowed:
        yield (
            "tags",
            f"got {count} tags, allowed: {allowed} (the service takes {limits.TAGS_MAXIMUM}, "
            f"{limits.OWN_TAGS_MAXIMUM} of them are this library's); drop {count - allowed}",
        )


@RULES.error("tags-own", "DESIGN decision 9")
def tags_own(case: Case) -> Iterator[Finding]:
    """Tags of this library's prefix, by which a cluster is told from a stranger's, are never the user's."""
    for key, _ in case.spec.tag_pairs:
        if key.startswith(reserved.OWN_TAG_PREFIX):
            yield (
                _path(key),
                f"got the key {shown(key)}, allowed: no key of this library's own prefix {reserved.OWN_TAG_PREFIX}, by "
                "which it knows which stack owns the cluster; choose another",
            )


@RULES.error("tags-unique", "model TagList")
def tags_unique(case: Case) -> Iterator[Finding]:
    """No key is given twice."""
    keys = [key for key, _ in case.spec.tag_pairs]
    for index, _ in repeated(keys):
        yield _path(keys[index]), f"got the key {shown(keys[index])} twice, allowed: once; drop one"


def _path(key: str) -> str:
    return f"tags[{shown(key)}]"
