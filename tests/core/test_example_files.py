"""The example cluster files are accepted by the reader and by the schema, and say nothing that is warned of."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from ruamel.yaml import YAML

from hyperpod_constructs.api_request import create_cluster_request
from hyperpod_constructs.config import check_config
from hyperpod_constructs.config_rules import config_bindings

_ROOT = Path(__file__).parents[2]
_FILES = sorted((_ROOT / "examples" / "cluster_files").glob("*.yaml"))


def _read(path: Path) -> Any:
    return YAML(typ="safe").load(path)


def test_every_shape_has_an_example() -> None:
    names = {path.stem for path in _FILES}
    assert names == {"minimal", "training_plan", "bring_your_own", "multi_zone", "image_only"}


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_an_example_has_nothing_to_complain_about(path: Path) -> None:
    config, errors, warnings = check_config(_read(path))
    assert [str(problem) for problem in (*errors, *warnings)] == []
    assert create_cluster_request(config.spec, config_bindings(config))


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_an_example_fits_the_schema(path: Path) -> None:
    schema = json.loads((_ROOT / "docs" / "cluster.schema.json").read_text())
    Draft7Validator(schema).validate(_read(path))


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_editors_find_the_schema_from_the_example(path: Path) -> None:
    first = path.read_text().splitlines()[0]
    reference = first.partition("$schema=")[2]
    assert (path.parent / reference).resolve() == _ROOT / "docs" / "cluster.schema.json"
