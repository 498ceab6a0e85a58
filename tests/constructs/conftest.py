"""Apps to put constructs in."""

import pytest
from aws_cdk import App, Stack

from tests.constructs.support import CONTEXT


@pytest.fixture
def app() -> App:
    return App(context=CONTEXT, builtin_cloud_formation_validation=False)


@pytest.fixture
def stack(app: App) -> Stack:
    return Stack(app, "Training")
