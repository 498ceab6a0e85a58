"""Rules of what the node scripts are asked to do. Files that a user's step names are read when they are staged."""

import posixpath
from collections.abc import Iterator
from typing import Any

from hyperpod_constructs import limits, reserved
from hyperpod_constructs.lifecycle_options import PinnedFile
from hyperpod_constructs.options import LifecycleStyle
from hyperpod_constructs.rules.rule import Case, Finding, RuleBook, bad_name, out_of_range, repeated, shown

RULES = RuleBook("Node scripts")

_CONTROL_CHARACTERS = "\r\n\0"


@RULES.error("home-path", f"{limits.MOUNT_PATH.source}; FACTS 6.2")
def home_path(case: Case) -> Iterator[Finding]:
    """Home directories are in an absolute path that is no folder of the system."""
    path = case.spec.lifecycle.home_path
    if not path:
        return
    if message := bad_name(path, limits.MOUNT_PATH, otherwise="such as /fsx/home"):
        yield "lifecycle.home_path", message
    elif posixpath.normpath(path) in reserved.SYSTEM_PATHS or posixpath.normpath(path) in ("/", "//"):
        yield "lifecycle.home_path", f"got {shown(path)}, allowed: a folder that is not the system's, such as /fsx/home"


@RULES.error("backup-pause", "lifecycle_assets/node_config.schema.json")
def backup_pause(case: Case) -> Iterator[Finding]:
    """Between two dumps of the accounting database 1 to 1440 minutes pass."""
    minutes = case.spec.lifecycle.accounting_backup_minutes
    if message := out_of_range(minutes, limits.BACKUP_MINUTES, "minutes"):
        yield "lifecycle.accounting_backup_minutes", f"{message}; to switch it off: accounting_backup=False"


def _settings(case: Case) -> list[tuple[Any, Any]]:
    """The settings as pairs; anything else is the first rule's to report."""
    settings = case.spec.lifecycle.slurm_settings
    if not isinstance(settings, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in settings):
        return []
    return list(settings)


@RULES.error("slurm-settings", "slurm.conf(5); field report Q-08")
def slurm_settings(case: Case) -> Iterator[Finding]:
    """Settings are keys of slurm.conf with a value on one line."""
    given = case.spec.lifecycle.slurm_settings
    if given not in ((), None) and not _settings(case):
        yield "lifecycle.slurm_settings", f"got {shown(given)}, allowed: a mapping of keys of slurm.conf to values"
    for key, value in _settings(case):
        where = f"lifecycle.slurm_settings[{shown(key)}]"
        if not isinstance(key, str) or not limits.SLURM_KEY.accepts(key):
            yield where, f"got the key {shown(key)}, allowed: {limits.SLURM_KEY.words}"
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            yield where, f"got {shown(value)}, allowed: text or a whole number, as slurm.conf has it, such as YES"
        elif isinstance(value, str) and (not value.strip() or any(char in value for char in f"#{_CONTROL_CHARACTERS}")):
            yield where, f"got {shown(value)}, allowed: text on one line without #, which begins a comment"


@RULES.error("slurm-settings-owned", "FACTS 6.3; field report Q-08")
def slurm_settings_owned(case: Case) -> Iterator[Finding]:
    """Settings that belong to the platform, or follow from other arguments, are not given."""
    for key, _ in _settings(case):
        lowered = key.lower() if isinstance(key, str) else ""
        if lowered in reserved.OWNED_SLURM_KEYS or lowered.startswith(reserved.OWNED_SLURM_PREFIXES):
            yield (
                f"lifecycle.slurm_settings[{shown(key)}]",
                f"got the key {shown(key)}, allowed: any but those that HyperPod writes itself, or that accounting and "
                "topology decide; drop it",
            )


@RULES.error("slurm-settings-unique", "slurm.conf(5): keys are told apart without regard to case")
def slurm_settings_unique(case: Case) -> Iterator[Finding]:
    """No setting is given twice, in any case of letters."""
    keys = [str(key).lower() if isinstance(key, str) else shown(key) for key, _ in _settings(case)]
    for index, _ in repeated(keys):
        key = _settings(case)[index][0]
        yield f"lifecycle.slurm_settings[{shown(key)}]", f"got the key {shown(key)} twice, allowed: once; drop one"


@RULES.error("user-steps", "lifecycle_assets/node_config.schema.json; field report L-22")
def user_steps(case: Case) -> Iterator[Finding]:
    """A user's step has a script, a name of its own, and an end: at most an hour."""
    steps = case.spec.lifecycle.user_steps
    for index, step in enumerate(steps):
        path = f"lifecycle.user_steps[{index}]"
        if not step.source.strip():
            yield f"{path}.source", "missing; give the path of a script, or of a folder with it"
        if step.entry and not _is_inside(step.entry):
            yield f"{path}.entry", f"got {shown(step.entry)}, allowed: a path inside source, without .."
        if step.name and (message := bad_name(step.name, limits.STEP_NAME)):
            yield f"{path}.name", message
        if message := out_of_range(step.timeout_seconds, limits.STEP_SECONDS, "seconds"):
            yield f"{path}.timeout_seconds", f"{message}; nodes are billed while they wait"
        yield from _arguments(path, step.arguments)
    for index, first in repeated([step.name or object() for step in steps]):
        yield (
            f"lifecycle.user_steps[{index}].name",
            f"got {shown(steps[index].name)}, the name of user_steps[{first}] too, allowed: a name of its own",
        )


@RULES.warning("user-steps-need-scripts", "FACTS 5.6")
def user_steps_need_scripts(case: Case) -> Iterator[Finding]:
    """A user's steps run on groups that have scripts only."""
    styles = {case.spec.style_of(group) for group in case.spec.groups}
    if case.spec.lifecycle.user_steps and styles == {LifecycleStyle.IMAGE_ONLY}:
        yield (
            "lifecycle.user_steps",
            "given, but with LifecycleStyle.IMAGE_ONLY no script runs on any node; use LifecycleStyle.ON_INIT_COMPLETE",
        )


@RULES.error("pinned-files", "lifecycle_assets/node_config.schema.json; DESIGN decision 12")
def pinned_files(case: Case) -> Iterator[Finding]:
    """A file that nodes fetch has an address and the checksum of its contents."""
    scripts = case.spec.lifecycle
    files = [(f"lifecycle.container_packages[{index}]", one) for index, one in enumerate(scripts.container_packages)]
    files += [(f"lifecycle.agents[{index}].file", agent.file) for index, agent in enumerate(scripts.agents)]
    for path, file in files:
        yield from _pinned(path, file)


def _pinned(path: str, file: PinnedFile) -> Iterator[Finding]:
    if message := bad_name(file.name, limits.STEP_NAME):
        yield f"{path}.name", message
    if message := bad_name(file.url, limits.FILE_URL):
        yield f"{path}.url", message
    if message := bad_name(file.sha256, limits.SHA256, instead=file.sha256.lower(), otherwise="see sha256sum(1)"):
        yield f"{path}.sha256", message


@RULES.error("agents", "lifecycle_assets/node_config.schema.json")
def agents(case: Case) -> Iterator[Finding]:
    """An agent has a name that systemd takes, of its own, and a program inside its archive."""
    given = case.spec.lifecycle.agents
    for index, agent in enumerate(given):
        path = f"lifecycle.agents[{index}]"
        if limits.STEP_NAME.accepts(agent.file.name) and (message := bad_name(agent.file.name, limits.AGENT_NAME)):
            yield f"{path}.file.name", message
        if agent.program and not _is_inside(agent.program):
            yield f"{path}.program", f"got {shown(agent.program)}, allowed: a path inside the archive, without .."
        yield from _arguments(path, agent.arguments)
    for index, first in repeated([agent.file.name for agent in given]):
        yield (
            f"lifecycle.agents[{index}].file.name",
            f"got {shown(given[index].file.name)}, the name of agents[{first}] too, allowed: a name of its own",
        )


def _is_inside(path: str) -> bool:
    """Whether a relative path stays where it starts."""
    return bool(path) and not path.startswith("/") and ".." not in path.split("/") and "\0" not in path


def _arguments(path: str, arguments: Any) -> Iterator[Finding]:
    for index, argument in enumerate(arguments):
        if any(char in argument for char in _CONTROL_CHARACTERS):
            yield f"{path}.arguments[{index}]", f"got {shown(argument)}, allowed: text on one line"
