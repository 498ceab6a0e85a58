"""Fixtures of the command line's tests."""

import pytest

from tests.cli.live_support import Live
from tests.cli.support import Command, FakeAccount, account_of, healthy_answers, use_account


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command, with nothing of the person's own AWS configuration."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("COLUMNS", "200")
    return Command(monkeypatch, capsys)


@pytest.fixture
def healthy(monkeypatch: pytest.MonkeyPatch) -> FakeAccount:
    """An account in which the documented cluster can be made."""
    return use_account(monkeypatch, account_of(healthy_answers()))


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> Live:
    """A live cluster's service with nothing in it."""
    return Live(monkeypatch)
