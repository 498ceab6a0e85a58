"""The pages made from code are current, and the schema of the cluster file says what its reader does."""

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from hyperpod_constructs.config import check_config
from hyperpod_constructs.config_options import ClusterConfig
from hyperpod_constructs.rules import ALL_RULES
from hyperpod_constructs.specs import ClusterSpec, ComputeGroup, ControllerGroup, LoginGroup

_ROOT = Path(__file__).parents[2]
_DOCS = _ROOT / "docs"


def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((_DOCS / "cluster.schema.json").read_text())
    return schema


def test_the_pages_are_what_the_code_gives() -> None:
    command = [sys.executable, str(_ROOT / "scripts" / "docs_from_code.py"), "--check"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_rule_has_its_line() -> None:
    page = (_DOCS / "rules.md").read_text()
    assert [rule.id for rule in ALL_RULES if f"| `{rule.id}` |" not in page] == []


def test_every_argument_is_explained() -> None:
    """An empty cell would be an argument that no docstring speaks of."""
    page = (_DOCS / "props.md").read_text()
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `") and line.count(" | ") >= 3]
    assert [row[0] for row in rows if len(row) > 3 and not row[3].strip(" |")] == []


def test_the_schema_is_one() -> None:
    Draft7Validator.check_schema(_schema())


@pytest.mark.parametrize("cls", [ClusterSpec, ControllerGroup, LoginGroup, ComputeGroup])
def test_the_schema_knows_every_argument(cls: Any) -> None:
    schema = _schema()
    known = schema["properties"] if cls is ClusterSpec else schema["definitions"][cls.__name__]["properties"]
    assert {item.name for item in fields(cls)} <= set(known)


def test_the_schema_knows_every_part_of_a_file() -> None:
    assert {item.name for item in fields(ClusterConfig)} - {"spec"} <= set(_schema()["properties"])


_GOOD: dict[str, Any] = {
    "cluster_name": "a",
    "controller": {"instance_type": "ml.m5.xlarge"},
    "compute": [
        {
            "name": "p5",
            "instance_type": "ml.p5.48xlarge",
            "instance_count": 2,
            "deep_health_checks": ["InstanceStress"],
            "file_systems": ["fsx", {"name": "home", "path": "/home"}],
            "scheduled_update": {
                "schedule_expression": "cron(0 3 ? * SUN *)",
                "deployment": {"maximum_batch": {"type": "INSTANCE_COUNT", "value": 1}},
            },
        }
    ],
    "accounting": "none",
    "node_recovery": "None",
    "users": [{"name": "alice", "uid": 2001}],
    "tags": {"team": "llm"},
    "network": {"availability_zone": "use1-az4"},
    "file_systems": [{"capacity_gib": 4800}, {"type": "open_zfs"}],
    "lifecycle": {"style": "OnCreate", "slurm_settings": {"MaxJobCount": 5000}},
}


def test_a_file_that_the_reader_accepts_fits_the_schema() -> None:
    assert check_config(_GOOD)[1] == []
    Draft7Validator(_schema()).validate(_GOOD)


@pytest.mark.parametrize(
    "change",
    [
        {"cluster_nam": "a"},
        {"cluster_name": "a_b"},
        {"controller": {"instance_typ": "ml.m5.xlarge"}},
        {"compute": [{"name": "p5", "instance_type": "ml.p5.48xlarge"}]},
        {"compute": [{"name": "p5", "instance_type": "ml.p5.48xlarge", "instance_count": "2"}]},
        {"users": [{"name": "alice", "uid": 1}]},
        {"node_recovery": "never"},
        {"accounting": {"endpoint": "db"}},
        {"file_systems": [{"type": "nfs"}]},
        {"network": {"vpc": "vpc-1"}},
        {"tags": {"a": 1}},
    ],
)
def test_a_file_that_the_reader_refuses_does_not_fit_the_schema(change: dict[str, Any]) -> None:
    assert check_config(_GOOD | change)[1]
    assert not Draft7Validator(_schema()).is_valid(_GOOD | change)
