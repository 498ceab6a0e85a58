"""Apps to put constructs in, in a region that is known."""

import pytest
from aws_cdk import App, Environment, Stack

from tests.constructs.support import CONTEXT


@pytest.fixture
def app() -> App:
    return App(context=CONTEXT, builtin_cloud_formation_validation=False)


@pytest.fixture
def stack(app: App) -> Stack:
    return Stack(app, "Training", env=Environment(region="us-west-2", account="111122223333"))
