"""Pages of a list: MaxResults and NextToken."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from .errors import validation_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_IN_A_PAGE = 100


def page(items: Sequence[Any], parameters: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The page of a list that a request asks for, under the member `name`, with the token of the next if there is one.

    The token holds the place in the list; a page is 100 items unless the request says less.

    Raises:
        ServiceError: `ValidationException`, the token is none of ours.
    """
    start = _place(parameters["NextToken"]) if parameters.get("NextToken") else 0
    end = start + int(parameters.get("MaxResults", MOST_IN_A_PAGE))
    answer: dict[str, Any] = {name: list(items[start:end])}
    if end < len(items):
        answer["NextToken"] = base64.b64encode(f"place {end}".encode()).decode()
    return answer


def _place(token: str) -> int:
    try:
        word, number = base64.b64decode(token.encode(), validate=True).decode().split(" ")
        if word == "place" and int(number) >= 0:
            return int(number)
    except (binascii.Error, ValueError):
        pass
    raise validation_error("The value of NextToken is not valid")
