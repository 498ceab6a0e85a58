"""node_config.json: the one document that the deployment hands to a node. Contract: node_config.schema.json."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nodelib.errors import ConfigError
from nodelib.json_reader import Reader

NEWEST_VERSION = 1
NODE_TYPES = ("controller", "login", "compute")
STYLES = ("on_create", "on_init_complete", "image_only")
STAGES = ("before_slurm", "after_slurm")

FEATURE_DEFAULTS: Mapping[str, bool] = {
    "home_directories": True,
    "ssh_between_nodes": True,
    "accounting_backup": True,
    "log_rotation": True,
    "prolog_epilog": True,
    "message_of_the_day": True,
    "containers": True,
    "login_nodes_free": True,
    "topology_guard": True,
    "accelerator_check": False,
}


@dataclass(frozen=True)
class Mount:
    """A file system of a group. ``mount_name`` and ``efa`` belong to Lustre."""

    type: str
    dns_name: str
    path: str
    mount_name: str = ""
    efa: bool = False


@dataclass(frozen=True)
class Group:
    """An instance group."""

    name: str
    node_type: str
    style: str
    partitions: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()


@dataclass(frozen=True)
class Accounting:
    """Where Slurm's accounting database is: ``on_controller``, ``external`` or ``none``."""

    kind: str = "on_controller"
    endpoint: str = ""
    port: int = 3306
    database_name: str = ""
    secret_arn: str = ""


@dataclass(frozen=True)
class User:
    """A Linux user with the same ids on every node."""

    name: str
    uid: int
    gid: int
    groups: tuple[str, ...] = ()
    sudo: bool = False
    ssh_public_keys: tuple[str, ...] = ()
    account: str = "default"


@dataclass(frozen=True)
class UserStep:
    """A script of the user. ``path`` is relative to the scripts' folder; an empty ``node_types`` means all."""

    name: str
    path: str
    stage: str = "after_slurm"
    node_types: tuple[str, ...] = ()
    required: bool = True
    arguments: tuple[str, ...] = ()
    timeout_seconds: int = 600


@dataclass(frozen=True)
class Package:
    """A file to fetch: pinned by its checksum."""

    name: str
    url: str
    sha256: str


@dataclass(frozen=True)
class Agent:
    """An observability agent: a pinned program that systemd keeps running."""

    name: str
    node_types: tuple[str, ...]
    package: Package
    program: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodeConfig:
    """The whole document, with defaults where it is silent."""

    cluster_name: str
    groups: Mapping[str, Group]
    accounting: Accounting = field(default_factory=Accounting)
    users: tuple[User, ...] = ()
    features: Mapping[str, bool] = field(default_factory=dict)
    home_path: str = ""
    accounting_backup_minutes: int = 15
    message_of_the_day: str = ""
    slurm_settings: Mapping[str, str] = field(default_factory=dict)
    user_steps: tuple[UserStep, ...] = ()
    container_packages: tuple[Package, ...] = ()
    agents: tuple[Agent, ...] = ()

    def enabled(self, feature: str) -> bool:
        """Whether a feature is on: as the document says, else its default."""
        return self.features.get(feature, FEATURE_DEFAULTS[feature])


def load_node_config(path: Path) -> NodeConfig:
    """Read and check the document.

    Raises:
        ConfigError: it is missing, not JSON, of a newer version, or has wrong values; the text names all of them.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{path}: not JSON: {error}") from error
    return parse_node_config(document)


def parse_node_config(document: object) -> NodeConfig:
    """Make typed values of the document.

    Raises:
        ConfigError: with every problem found.
    """
    _check_version(document)
    problems: list[str] = []
    reader = Reader(document, "", problems)
    config = NodeConfig(
        cluster_name=reader.text("cluster_name"),
        groups={name: _group(name, group) for name, group in reader.children("groups").items()},
        accounting=_accounting(reader.child("accounting")),
        users=tuple(_user(user) for user in reader.items("users")),
        features=_features(reader.child("features")),
        home_path=reader.text("home_path", ""),
        accounting_backup_minutes=reader.number("accounting_backup_minutes", 15),
        message_of_the_day=reader.text("message_of_the_day", ""),
        slurm_settings=reader.child("slurm_settings").text_values(),
        user_steps=tuple(_user_step(step) for step in reader.items("user_steps")),
        container_packages=tuple(_package(package) for package in reader.items("container_packages")),
        agents=tuple(_agent(agent) for agent in reader.items("agents")),
    )
    if problems:
        raise ConfigError("node_config.json: " + "; ".join(problems))
    return config


def _check_version(document: object) -> None:
    version = document.get("version") if isinstance(document, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ConfigError(f"node_config.json: version is {version!r}, expected a whole number from 1")
    if version > NEWEST_VERSION:
        raise ConfigError(
            f"node_config.json has version {version}, these scripts know versions up to {NEWEST_VERSION}: "
            "deploy the scripts and the configuration from the same hyperpod-constructs release"
        )


def _group(name: str, reader: Reader) -> Group:
    return Group(
        name=name,
        node_type=reader.choice("node_type", NODE_TYPES),
        style=reader.choice("style", STYLES),
        partitions=reader.texts("partitions"),
        mounts=tuple(_mount(mount) for mount in reader.items("mounts")),
    )


def _mount(reader: Reader) -> Mount:
    kind = reader.choice("type", ("lustre", "open_zfs"))
    return Mount(
        type=kind,
        dns_name=reader.text("dns_name"),
        path=reader.text("path"),
        mount_name=reader.text("mount_name") if kind == "lustre" else "",
        efa=reader.flag("efa", False),
    )


def _accounting(reader: Reader) -> Accounting:
    kind = reader.choice("kind", ("on_controller", "external", "none"), "on_controller")
    if kind != "external":
        return Accounting(kind=kind)
    return Accounting(
        kind=kind,
        endpoint=reader.text("endpoint"),
        port=reader.number("port", 3306),
        database_name=reader.text("database_name", ""),
        secret_arn=reader.text("secret_arn"),
    )


def _user(reader: Reader) -> User:
    return User(
        name=reader.text("name"),
        uid=reader.number("uid"),
        gid=reader.number("gid"),
        groups=reader.texts("groups"),
        sudo=reader.flag("sudo", False),
        ssh_public_keys=reader.texts("ssh_public_keys"),
        account=reader.text("account", "default"),
    )


def _features(reader: Reader) -> dict[str, bool]:
    for name in reader.values.keys() - FEATURE_DEFAULTS.keys():
        reader.note(name, reader.values[name], "one of the features " + ", ".join(FEATURE_DEFAULTS))
    return {name: reader.flag(name, default) for name, default in FEATURE_DEFAULTS.items()}


def _node_types(reader: Reader) -> tuple[str, ...]:
    node_types = reader.texts("node_types")
    for node_type in node_types:
        if node_type not in NODE_TYPES:
            reader.note("node_types", node_type, "one of " + ", ".join(NODE_TYPES))
    return node_types


def _user_step(reader: Reader) -> UserStep:
    return UserStep(
        name=reader.text("name"),
        path=reader.text("path"),
        stage=reader.choice("stage", STAGES, "after_slurm"),
        node_types=_node_types(reader),
        required=reader.flag("required", True),
        arguments=reader.texts("arguments"),
        timeout_seconds=reader.number("timeout_seconds", 600),
    )


def _package(reader: Reader) -> Package:
    return Package(name=reader.text("name"), url=reader.text("url"), sha256=reader.text("sha256"))


def _agent(reader: Reader) -> Agent:
    return Agent(
        name=reader.text("name"),
        node_types=_node_types(reader),
        package=_package(reader),
        program=reader.text("program", ""),
        arguments=reader.texts("arguments"),
    )
