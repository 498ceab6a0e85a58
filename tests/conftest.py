"""What holds for every test: no network but loopback, no credentials of the machine, no colour in captured text."""

import os
from pathlib import Path

import pytest

_AWS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    # A machine's own settings must not reach a test.
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    # CDK's built-in template check costs 5 to 8 s a process; tests/app has the one test with it on.
    "CDK_VALIDATION": "false",
    "NO_COLOR": "1",
}


def pytest_configure(config: pytest.Config) -> None:
    """Set the environment before any test module is imported, since the CDK reads it at import."""
    os.environ.pop("AWS_PROFILE", None)
    os.environ.update(_AWS)


# What shares something that costs seconds to start stays on one worker; the longest first, so that no worker waits.
_TOGETHER = (
    ("tests/rehearsal/test_nodes", "rehearsal"),
    ("tests/nodes/", "nodes"),
    ("tests/rehearsal/test_", "rehearsal"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group and order the tests for parallel runs (``pytest -n 2 --dist loadgroup``); else by cost too."""
    root = Path(__file__).parents[1]

    def group_of(item: pytest.Item) -> str:
        place = item.path.relative_to(root).as_posix()
        if item.get_closest_marker("nodes") is not None and not place.startswith("tests/rehearsal/"):
            return "nodes"
        return next((group for start, group in _TOGETHER if place.startswith(start)), "")

    for item in items:
        if (group := group_of(item)) and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: 0 if item.get_closest_marker("xdist_group") is not None else 1)
