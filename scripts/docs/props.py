"""docs/props.md: every argument, its type, default, API field, and what a change of it does."""

import re

from hyperpod_constructs.api_fields import API_FIELDS, GROUPS, NOT_OFFERED
from hyperpod_constructs.handlers.cluster.policy import CLUSTER_POLICY, GROUP_POLICY, Change
from scripts.docs.source import PACKAGE, Argument, arguments, enums, members, summary

_INTRODUCTION = """\
<!-- Written by scripts/docs_from_code.py from the code and its docstrings. Do not edit. -->

# Arguments

Names say their units. Where the default is empty, the argument is required. "API field" is the field of the
CreateCluster request; "on change" says what a deployment with another value does to a cluster that exists:

- **in place**: what is running takes it.
- **new nodes**: accepted; running nodes keep the old value until they are replaced.
- **refused**: the deployment is refused before anything is called, with advice; usually a new group is the way.
- **count**: applied unless somebody else changed the live count meanwhile.
- **software**: made by a software update.
- **added only**: can be added and changed, never removed.

The same names are the keys of a [cluster file](cluster.schema.json).
"""

_WORDS = {
    Change.IDENTITY: "another one",
    Change.IN_PLACE: "in place",
    Change.NEW_NODES_ONLY: "new nodes",
    Change.COUNT: "count",
    Change.SOFTWARE: "software",
    Change.ADD_ONLY: "added only",
    Change.REFUSED: "refused",
}
# What no rule of the change policy speaks of: tags have calls of their own, groups come and go.
_OWN_WORDS = {
    "Tags": "in place",
    GROUPS: "by group",
    f"{GROUPS}.InstanceStorageConfigs[]": "new nodes",
    f"{GROUPS}.InstanceStorageConfigs[].EbsVolumeConfig": "new nodes",
}

_SPECS, _OPTIONS, _LIFECYCLE = "specs.py", "options.py", "lifecycle_options.py"
_RECORDS = (
    "EbsVolume",
    "Mount",
    "ScheduledUpdate",
    "AutoPatch",
    "Deployment",
    "Batch",
    "PosixUser",
    "TieredStorage",
)
_LIFECYCLE_RECORDS = ("LifecycleScripts", "UserStep", "PinnedFile", "NodeAgent")
_CONSTRUCTS = (
    ("network.py", "ClusterNetwork"),
    ("lustre.py", "LustreFileSystem"),
    ("open_zfs.py", "OpenZfsFileSystem"),
    ("buckets.py", "ScriptsBucket"),
    ("roles.py", "ExecutionRole"),
)
_FILES = ("ClusterConfig", "NetworkConfig", "LustreConfig", "OpenZfsConfig")


def page() -> str:
    """The page."""
    sections = [
        _section("cluster.py", "SlurmCluster", "SlurmCluster"),
        _group_section(),
        *(_section(_SPECS, name, "Group") for name in ("ControllerGroup", "LoginGroup", "ComputeGroup")),
        *(_section(_OPTIONS, name, name) for name in _RECORDS),
        *(_section(_LIFECYCLE, name, name) for name in _LIFECYCLE_RECORDS),
        _accounting(),
        *(_section(module, name, name) for module, name in _CONSTRUCTS if (PACKAGE / module).exists()),
        _closed_sets(),
        *(_section("config_options.py", name, "") for name in _FILES),
        _not_offered(),
    ]
    return "\n".join([_INTRODUCTION, *sections])


def _section(module: str, name: str, owner: str) -> str:
    return _table(f"`{name}`", summary(module, name), arguments(module, name), owner)


def _group_section() -> str:
    text = "What every group has, whatever its node type."
    return _table("Every group", text, arguments(_SPECS, "_Group"), "Group")


def _accounting() -> str:
    text = "`Accounting.on_controller()`, `Accounting.none()`, or `Accounting.external(...)` with:"
    described = {
        "endpoint": "host name without a port; may be a token",
        "secret": "an `ISecret`, or the ARN of one, with the database's user and password",
        "port": "1 to 65535; the service's default is 3306",
        "database_name": "letters, digits, `$` and `_`, at most 64; the service chooses one by default",
    }
    fields = [item for item in arguments(_OPTIONS, "Accounting") if item.name in described]
    rows = [
        Argument(name=item.name, type=item.type, default=item.default, text=described[item.name]) for item in fields
    ]
    return _table("`Accounting`", text, rows, "Accounting")


def _table(title: str, text: str, rows: list[Argument], owner: str) -> str:
    known = API_FIELDS.get(owner, {})
    head = ["argument", "type", "default", "what"] + (["API field", "on change"] if known else [])
    lines = [f"## {title}", "", text, "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        cells = [f"`{row.name}`", _code(row.type), _code(row.default), _cell(row.text)]
        if known:
            path = known.get(row.name, "")
            cells += [_code(path.replace(f"{GROUPS}.", "")), _changes(path)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _changes(path: str) -> str:
    """What the custom resource does when the field of that path changes."""
    if not path:
        return ""
    if path in _OWN_WORDS:
        return _OWN_WORDS[path]
    policy = GROUP_POLICY if path.startswith(f"{GROUPS}.") else CLUSTER_POLICY
    parts = tuple(path.removeprefix(f"{GROUPS}.").replace("[]", "").split("."))
    return _WORDS[policy.rule_for(parts).change]


def _closed_sets() -> str:
    lines = ["## Closed sets", "", "In a cluster file the value or the member's name, in any case of letters.", ""]
    lines += ["| member | value | what |", "|---|---|---|"]
    for module in (_OPTIONS, _LIFECYCLE, "lustre_options.py", "open_zfs_options.py"):
        for name in enums(module):
            lines += [f"| `{name}.{key}` | `{value}` | {_cell(text)} |" for key, value, text in members(module, name)]
    return "\n".join([*lines, ""])


def _not_offered() -> str:
    lines = ["## Fields of the API that no argument sets", "", "| field | why |", "|---|---|"]
    lines += [f"| `{path}` | {_cell(reason)} |" for path, reason in NOT_OFFERED.items()]
    return "\n".join([*lines, ""])


def _code(text: str) -> str:
    """Code in a cell; a union's bar would end the cell."""
    return f"`{_cell(text)}`" if text else ""


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text)
