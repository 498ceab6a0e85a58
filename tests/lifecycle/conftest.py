"""Fixtures of the node scripts' tests."""

import shutil
import sys
from pathlib import Path

import pytest

# On a node the scripts run from their own folder, which Python puts first on its path.
sys.path.insert(0, str(Path(__file__).parents[2] / "lifecycle_assets"))

from tests.lifecycle.support import ASSETS, Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def assets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bucket") / "lifecycle"
    shutil.copytree(ASSETS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder
