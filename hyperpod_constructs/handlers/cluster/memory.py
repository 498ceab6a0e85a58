"""What a rollback must know and no event tells: live counts that an update overrode. Pure.

An operator scaled a group from 4 to 8; the template then goes from 4 to 10 and fails elsewhere. The event of the
rollback only knows 10 and 4, and 4 would end nodes that were there before. So an update that overrides somebody's
count, or takes over a group made by hand, writes what was there into a tag before it calls; the rollback reads it.

The tag begins with the id of the request that wrote it: a repeated delivery keeps it, the next update replaces it.
"""

from collections.abc import Mapping

from .plan import Call
from .properties import OWNER_TAG_PREFIX
from .tags import ADD_TAGS, DELETE_TAGS

MEMORY_TAG = f"{OWNER_TAG_PREFIX}counts-before"
ACCEPTED_TAG = f"{OWNER_TAG_PREFIX}accepted"
"""The request whose calls a poll has made. Polls know nothing of each other, and a second plan would override what an
operator changed after the first one was accepted."""

TAG_VALUE_CHARACTERS = 256


def is_accepted(tags: Mapping[str, str], request_id: str) -> bool:
    """Whether an earlier poll of this request has made its calls."""
    return tags.get(ACCEPTED_TAG) == request_id


def accepted_call(arn: str, request_id: str) -> Call:
    """The call that says so to the next poll."""
    return Call(operation=ADD_TAGS, request={"ResourceArn": arn, "Tags": [{"Key": ACCEPTED_TAG, "Value": request_id}]})


def remembered_counts(tags: Mapping[str, str]) -> dict[str, int]:
    """The counts in the tag; anything unreadable is passed over."""
    pairs = (item.partition("=") for item in tags.get(MEMORY_TAG, "").split())
    return {name: int(count) for name, _, count in pairs if count.isdecimal()}


def memory_call(arn: str, tags: Mapping[str, str], counts: Mapping[str, int], request_id: str) -> Call | None:
    """The call that makes the tag hold these counts, None when nothing is to do.

    Args:
        arn: the cluster's.
        tags: its tags now.
        counts: what this request overrides; without any, the tag of an earlier request goes.
        request_id: of this request.
    """
    there = tags.get(MEMORY_TAG)
    ours = there is not None and there.split(" ", 1)[0] == request_id
    # What was there before the first delivery counts, not what the second one found.
    merged = {**counts, **remembered_counts(tags)} if ours else counts
    value = _written(merged, request_id) if merged else None
    if value == there or (ours and not counts):
        return None
    if value is None:
        return Call(operation=DELETE_TAGS, request={"ResourceArn": arn, "TagKeys": [MEMORY_TAG]})
    return Call(operation=ADD_TAGS, request={"ResourceArn": arn, "Tags": [{"Key": MEMORY_TAG, "Value": value}]})


def _written(counts: Mapping[str, int], request_id: str) -> str:
    """As many as a tag's value holds, in the order of the template."""
    text = request_id
    for name, count in counts.items():
        longer = f"{text} {name}={count}"
        text = longer if len(longer) <= TAG_VALUE_CHARACTERS else text
    return text
