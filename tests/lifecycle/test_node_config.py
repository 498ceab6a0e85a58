"""The contract between the deployment and the node: schema, reader and the constructs' writer agree."""

import json
from typing import Any

import jsonschema
import pytest
from nodelib.errors import ConfigError
from nodelib.node_config import FEATURE_DEFAULTS, NEWEST_VERSION, parse_node_config

from hyperpod_constructs.node_config import NODE_CONFIG_VERSION
from tests.lifecycle.support import ASSETS, node_config

SCHEMA = json.loads((ASSETS / "node_config.schema.json").read_text())

WHOLE = node_config(
    users=[{"name": "alice", "uid": 2001, "gid": 2001, "groups": ["ml"], "sudo": True, "ssh_public_keys": ["ssh-x A"]}],
    accounting={"kind": "external", "endpoint": "db.example", "port": "3307", "secret_arn": "arn:aws:secret"},
    features={"containers": False},
    home_path="/fsx/people",
    accounting_backup_minutes=30,
    message_of_the_day="Be kind",
    slurm_settings={"MaxJobCount": "20000"},
    user_steps=[{"name": "tune", "path": "user/0/tune.sh", "stage": "before_slurm", "node_types": ["compute"]}],
    container_packages=[{"name": "enroot", "url": "s3://bucket/enroot.deb", "sha256": "0" * 64}],
    agents=[{"name": "node-exporter", "url": "https://host/x.tgz", "sha256": "1" * 64, "program": "x/node_exporter"}],
)


@pytest.mark.parametrize("document", [node_config(), WHOLE], ids=["minimal", "whole"])
def test_schema_and_reader_accept_the_same_documents(document: dict[str, Any]) -> None:
    jsonschema.validate(document, SCHEMA)
    assert parse_node_config(document).cluster_name == "demo"


def test_whole_document_becomes_typed_values() -> None:
    config = parse_node_config(WHOLE)
    assert (config.users[0].uid, config.users[0].groups, config.users[0].account) == (2001, ("ml",), "default")
    assert config.accounting.port == 3307, "deploy-time numbers may arrive as text"
    assert (config.enabled("containers"), config.enabled("log_rotation")) == (False, True)
    assert config.user_steps[0].node_types == ("compute",)
    assert config.agents[0].package.sha256 == "1" * 64


def test_schema_names_every_feature_with_the_reader_s_default() -> None:
    features = SCHEMA["properties"]["features"]["properties"]
    assert {name: feature["default"] for name, feature in features.items()} == dict(FEATURE_DEFAULTS)


def test_version_of_writer_reader_and_schema_is_one() -> None:
    assert NODE_CONFIG_VERSION == NEWEST_VERSION == SCHEMA["properties"]["version"]["const"]


def test_every_problem_is_reported_with_its_path() -> None:
    document = node_config(
        cluster_name=7,
        users=[{"name": "alice", "uid": "many", "gid": True}],
        features={"docker": True, "containers": "yes"},
        accounting={"kind": "sqlite"},
    )
    document["groups"]["login-group"]["node_type"] = "worker"
    with pytest.raises(ConfigError) as caught:
        parse_node_config(document)
    for path in (
        "cluster_name is 7, expected a text",
        "users[0].uid is 'many'",
        "users[0].gid is True",
        "features.docker is True, expected one of the features home_directories",
        "features.containers is 'yes', expected true or false",
        "accounting.kind is 'sqlite', expected one of on_controller, external, none",
        "groups.login-group.node_type is 'worker', expected one of controller, login, compute",
    ):
        assert path in str(caught.value)


@pytest.mark.parametrize("version", [None, 0, "1", True])
def test_document_without_a_proper_version_is_refused(version: object) -> None:
    with pytest.raises(ConfigError, match="version is"):
        parse_node_config(node_config(version=version))
