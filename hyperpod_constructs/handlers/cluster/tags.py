"""The user's tags: changed by AddTags and DeleteTags, because UpdateCluster does not take them (C-15). Pure."""

from collections.abc import Mapping

from .plan import Call
from .properties import is_users_tag

ADD_TAGS = "AddTags"
DELETE_TAGS = "DeleteTags"


def tag_calls(arn: str, wanted: Mapping[str, str], before: Mapping[str, str], live: Mapping[str, str]) -> list[Call]:
    """The calls that make the user's tags as wanted.

    Only keys that the template had before are deleted: others were put there by somebody else. AWS's own tags and the
    owner tags are never touched.
    """
    calls = []
    changed = {key: value for key, value in wanted.items() if is_users_tag(key) and live.get(key) != value}
    if changed:
        tags = [{"Key": key, "Value": value} for key, value in sorted(changed.items())]
        calls.append(Call(operation=ADD_TAGS, request={"ResourceArn": arn, "Tags": tags}))
    gone = sorted(key for key in before if key not in wanted and key in live and is_users_tag(key))
    if gone:
        calls.append(Call(operation=DELETE_TAGS, request={"ResourceArn": arn, "TagKeys": gone}))
    return calls
