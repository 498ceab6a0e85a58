"""What holds for every test: no network but loopback, no credentials of the machine, no colour in captured text."""

import os

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
