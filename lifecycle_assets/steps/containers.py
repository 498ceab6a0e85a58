"""Docker, Enroot and Pyxis: what the image has is configured; packages are installed only when asked for."""

import json
import re

from nodelib.debian_packages import install_files
from nodelib.downloads import fetch_package
from nodelib.errors import StepError, StepTimeoutError
from nodelib.mounts import MOUNT_TABLE, mounted_at
from nodelib.slurm_conf import FOLDER
from nodelib.slurm_control import reconfigure
from nodelib.step import Context, Step
from nodelib.systemd import ensure_running, unit_states
from nodelib.waiting import wait_for

NVME, VOLUME = "/opt/dlami/nvme", "/opt/sagemaker"
NVME_UNIT = "dlami-nvme"
# The unit that makes the NVMe file system may still be at it (field report L-10).
NVME_TIMEOUT_SECONDS = 120.0
DAEMON_JSON = "/etc/docker/daemon.json"
ENROOT_CONF = "/etc/enroot/enroot.conf"
PLUGSTACK = f"{FOLDER}/plugstack.conf"
PYXIS_PATHS = ("/usr/local/lib/slurm", f"{FOLDER.rpartition('/')[0]}/lib/slurm", "/usr/lib/slurm")
PYXIS = "spank_pyxis.so"


def install(context: Context) -> None:
    """Install the packages that the deployment names, each pinned by its checksum.

    Raises:
        StepError: one could not be fetched or installed.
    """
    packages = context.config.container_packages
    done = "/var/lib/hyperpod-constructs/container_packages"
    wanted = "".join(f"{package.sha256} {package.name}\n" for package in packages)
    if not packages or context.files.read(done) == wanted:
        return
    install_files(context, [fetch_package(context, package) for package in packages])
    context.did(f"installed {', '.join(package.name for package in packages)}")
    context.files.write(done, wanted)


def configure(context: Context) -> None:
    """Put the data of Docker and Enroot on the node's large disks, and let slurmctld know Pyxis.

    Raises:
        StepError: a configuration did not take.
    """
    disks = large_disks(context)
    _configure_docker(context, disks)
    _configure_enroot(context, disks)
    if context.node_type == "controller":
        _configure_pyxis(context)


def large_disks(context: Context) -> list[str]:
    """The mounted ones of the secondary volume and the NVMe disks, once these are made."""
    _wait_for_nvme(context)
    table = context.files.read(MOUNT_TABLE)
    return [path for path in (VOLUME, NVME) if mounted_at(table, path) is not None]


def _wait_for_nvme(context: Context) -> None:
    def settled() -> bool | None:
        state = unit_states(context, NVME_UNIT)[NVME_UNIT]
        return None if state.exists and state.active == "activating" else True

    try:
        wait_for(settled, what=NVME_UNIT, timeout_seconds=NVME_TIMEOUT_SECONDS, clock=context.clock)
    except StepTimeoutError as error:
        context.note(f"{error}: going on without the NVMe disks")


def _configure_docker(context: Context, disks: list[str]) -> None:
    docker = unit_states(context, "docker")["docker"]
    if not docker.exists:
        return
    changed = False
    if disks:
        # The volume outlives a stop, the NVMe disks do not.
        changed = context.files.edit(DAEMON_JSON, lambda text: with_data_root(text, f"{disks[0]}/docker/data-root"))
        context.files.folder(f"{disks[0]}/docker", mode=0o711)
    ensure_running(context, "docker", restart=changed)


def with_data_root(text: str, folder: str) -> str:
    """daemon.json with Docker's data in that folder and all other keys as they were.

    Raises:
        StepError: the file holds something else than an object.
    """
    try:
        settings = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise StepError(f"{DAEMON_JSON}: not JSON: {error}") from error
    if not isinstance(settings, dict):
        raise StepError(f"{DAEMON_JSON}: expected an object, got {text.strip()[:40]!r}")
    if settings.get("data-root") == folder:
        return text
    return json.dumps({**settings, "data-root": folder}, indent=2) + "\n"


def _configure_enroot(context: Context, disks: list[str]) -> None:
    if not context.files.exists(ENROOT_CONF) or not disks:
        return
    # Images are unpacked and thrown away: the fastest disk.
    base = f"{disks[-1]}/enroot"
    settings = {
        "ENROOT_RUNTIME_PATH": "/run/enroot/user-$(id -u)",
        "ENROOT_CACHE_PATH": f"{base}/cache/user-$(id -u)",
        "ENROOT_DATA_PATH": f"{base}/data/user-$(id -u)",
        "ENROOT_TEMP_PATH": f"{base}/temp",
    }
    context.files.folder(base)
    for folder in (f"{base}/cache", f"{base}/data", f"{base}/temp"):
        # As /tmp: everybody's, but nobody removes another's.
        context.files.folder(folder, mode=0o1777)
    context.files.write("/etc/tmpfiles.d/hyperpod-constructs-enroot.conf", "d /run/enroot 1777 root root -\n")
    context.files.folder("/run/enroot", mode=0o1777)
    context.files.edit(ENROOT_CONF, lambda text: with_enroot_settings(text, settings))


def with_enroot_settings(text: str, settings: dict[str, str]) -> str:
    """enroot.conf with these settings: in place of a line or of its commented form, else at the end."""
    lines, left = [], dict(settings)
    for line in text.splitlines():
        match = re.match(r"#?\s*([A-Z_]+)\b", line)
        name = match[1] if match else ""
        if name in left:
            lines.append(f"{name} {left.pop(name)}")
        elif name not in settings:
            lines.append(line)
    return "\n".join([*lines, *(f"{name} {value}" for name, value in left.items())]) + "\n"


def _configure_pyxis(context: Context) -> None:
    """Inline in plugstack.conf: nodes get that file from slurmctld, but not what it includes (field report Q-04)."""
    plugin = next((f"{folder}/{PYXIS}" for folder in PYXIS_PATHS if context.files.exists(f"{folder}/{PYXIS}")), None)
    if plugin is None:
        return
    if context.files.edit(PLUGSTACK, lambda text: with_pyxis(text, plugin)):
        reconfigure(context)


def with_pyxis(text: str, plugin: str) -> str:
    """plugstack.conf with the plugin in it once.

    ``optional``: a node without the file must still run jobs without containers.
    """
    lines = text.splitlines()
    kept = [line for line in lines if PYXIS not in line and "plugstack.conf.d" not in line]
    included = [line for line in lines if "plugstack.conf.d" in line and "pyxis" not in line and "*" not in line]
    return "\n".join([*kept, *included, f"optional {plugin}"]) + "\n"


INSTALL_CONTAINER_PACKAGES = Step(
    name="install_container_packages",
    summary="Install the container packages that the deployment names, pinned by checksum; none by default",
    run=install,
    timeout_seconds=780,
    feature="containers",
)

CONFIGURE_CONTAINERS = Step(
    name="configure_containers",
    summary="Docker's and Enroot's data on the large disks, Pyxis in plugstack.conf, where the image has them",
    run=configure,
    styles=("on_create",),
    feature="containers",
    required=False,
    timeout_seconds=240,
)
