"""Recognises values that are known at deploy time only, without importing the AWS CDK. Standard library only.

The CDK hides such values in marker text, in a huge negative number, or in a list of one marker (STYLE, fact 8).
"""

import re
from collections.abc import Sequence

_MARKER = re.compile(r"[$#]\{Token\[")
# Encoded numbers have 0xFBFF as their leading two bytes: -1.888154589709e+289 and neighbours.
_NUMBER_CEILING = -1e289
_NUMBER_FLOOR = -1e290


def is_token(value: object) -> bool:
    """Whether the value is, or contains, an unresolved CDK token."""
    if isinstance(value, str):
        return _MARKER.search(value) is not None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _NUMBER_FLOOR < value < _NUMBER_CEILING
    if isinstance(value, Sequence):
        return any(is_token(item) for item in value)
    return hasattr(value, "resolve") and hasattr(value, "creation_stack")
