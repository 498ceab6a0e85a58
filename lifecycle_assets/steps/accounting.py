"""Slurm accounting: MariaDB on the controller or an external database, slurmdbd, before slurmctld's first start.

The order matters: a slurmctld that started once without accounting keeps a cluster id of its own and is refused by a
database that knows another (field report Q-01).
"""

import json
import socket

from nodelib import database
from nodelib.backup import restore
from nodelib.errors import StepError
from nodelib.node_config import Accounting
from nodelib.platform_files import RESOURCE_CONFIG, parse_resource_config, read_json_object
from nodelib.slurm_conf import FOLDER, SlurmConf, quoted, slurm_user, with_key
from nodelib.slurm_control import LIST_CLUSTERS, wait_for_database
from nodelib.step import Context, Step
from nodelib.systemd import ensure_running, unit_states

SLURMDBD_CONF = f"{FOLDER}/slurmdbd.conf"
SLURMDBD_PORT = "6819"
MARIADB_SETTINGS = "/etc/mysql/mariadb.conf.d/90-hyperpod-constructs.cnf"
# Slurm's accounting guide asks for these; the buffer pool is memory that fills only with use. With snapshot isolation,
# the default since MariaDB 11.6, slurmdbd ends at a write conflict; "loose" because older releases do not know it.
_MARIADB_VALUES = {
    "bind-address": "127.0.0.1",
    "innodb_buffer_pool_size": "512M",
    "innodb_lock_wait_timeout": "900",
    "max_allowed_packet": "16M",
    "loose_innodb_snapshot_isolation": "OFF",
}
_SLURMDBD_HEADER = "LogFile=/var/log/slurm/slurmdbd.log\n"
DATABASE_TIMEOUT_SECONDS = 240.0


def run(context: Context) -> None:
    """Set the database up, start slurmdbd, register the cluster, and write the accounting keys of slurm.conf.

    Raises:
        StepError: the database or slurmdbd does not work; with the end of its journal.
    """
    accounting = context.config.accounting
    if accounting.kind == "none":
        context.note("no accounting database was asked for")
        return
    if accounting.kind == "on_controller":
        _start_mariadb(context)
        changed = _configure_slurmdbd(context, _local_settings(context))
    else:
        changed = _configure_slurmdbd(context, _external_settings(context, accounting))
    ensure_running(context, "slurmdbd", restart=changed)
    _configure_slurm(context)  # sacctmgr, too, learns from slurm.conf that there is a slurmdbd
    wait_for_database(context, DATABASE_TIMEOUT_SECONDS)
    _register_cluster(context)
    if changed:
        _forget_cluster_id(context)


def _start_mariadb(context: Context) -> None:
    changed = context.files.write(MARIADB_SETTINGS, _mariadb_text(_other_settings(context)))
    ensure_running(context, database.UNIT, restart=changed, timeout_seconds=120)
    account, _ = slurm_user(context.files)
    database.ensure_database(context, account)
    if context.config.enabled("accounting_backup"):
        restore(context)


def _mariadb_text(others: str) -> str:
    """Our settings, without those that the image has chosen itself."""
    lines = [f"{key}={value}" for key, value in _MARIADB_VALUES.items() if key.removeprefix("loose_") not in others]
    return "\n".join(["# For Slurm's accounting database", "[mysqld]", *lines, ""])


def _other_settings(context: Context) -> str:
    """Keys that the image's own files for MariaDB set; Debian's examples are commented out, its address is ours too."""
    ours = MARIADB_SETTINGS.rpartition("/")[2]
    files = sorted(path for path in context.files.path("/etc/mysql").rglob("*.cnf") if path.name != ours)
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
    lines = [line for text in texts for line in text.splitlines() if not line.lstrip().startswith("#")]
    return "\n".join(line.replace("-", "_") for line in lines if "bind" not in line)


def _local_settings(context: Context) -> dict[str, str | None]:
    account, _ = slurm_user(context.files)
    # No password: the database lets the Linux account of that name in over its socket, and only it.
    return {
        "StorageHost": "localhost",
        "StoragePort": None,
        "StorageUser": account,
        "StoragePass": None,
        "StorageLoc": database.NAME,
    }


def _external_settings(context: Context, accounting: Accounting) -> dict[str, str | None]:
    secret = _fetch_secret(context, accounting.secret_arn)
    return {
        "StorageHost": accounting.endpoint,
        "StoragePort": str(accounting.port),
        "StorageUser": quoted(secret["username"], "the database's user name"),
        "StoragePass": quoted(secret["password"], "the database's password"),
        "StorageLoc": accounting.database_name or f"{database.NAME}_{_cluster_id(context)}",
    }


def _fetch_secret(context: Context, arn: str) -> dict[str, str]:
    region = arn.split(":")[3] if arn.count(":") >= 6 else ""
    command = ["aws", "secretsmanager", "get-secret-value", "--secret-id", arn, "--query", "SecretString"]
    command += ["--output", "text", *(["--region", region] if region else [])]
    text = context.runner.run(command, secret=True, timeout_seconds=60).stdout
    try:
        secret = json.loads(text)
    except ValueError:
        secret = None
    if not isinstance(secret, dict) or not {"username", "password"} <= secret.keys():
        raise StepError(f"secret {arn}: expected a JSON object with username and password")
    return {key: str(secret[key]) for key in ("username", "password")}


def _cluster_id(context: Context) -> str:
    document = read_json_object(context.files.path(RESOURCE_CONFIG))
    return parse_resource_config(document).cluster_arn.rpartition("/")[2]


def _configure_slurmdbd(context: Context, storage: dict[str, str | None]) -> bool:
    account, owner = slurm_user(context.files)
    text = context.files.read(SLURMDBD_CONF) or _template(context)
    settings: dict[str, str | None] = {
        "AuthType": "auth/munge",
        "DbdHost": socket.gethostname().partition(".")[0],
        "DbdPort": SLURMDBD_PORT,
        "SlurmUser": account,
        "StorageType": "accounting_storage/mysql",
        **storage,
    }
    for key, value in settings.items():
        text = with_key(text, key, value)
    # slurmdbd refuses a file that others may read.
    return context.files.write(SLURMDBD_CONF, text, mode=0o600, owner=owner)


def _template(context: Context) -> str:
    """The image's own start of slurmdbd.conf, for its paths; lines with values to be filled in are ours to write."""
    template = context.files.read(f"{SLURMDBD_CONF}.template")
    kept = "".join(f"{line}\n" for line in template.splitlines() if "$" not in line)
    return kept or _SLURMDBD_HEADER


def _register_cluster(context: Context) -> None:
    name = SlurmConf(context.files).get("ClusterName") or ""
    known = context.runner.run(LIST_CLUSTERS).stdout.split()
    if name.lower() not in known:
        context.runner.run(["sacctmgr", "-i", "add", "cluster", name])
        context.did(f"registered cluster {name}")


def _configure_slurm(context: Context) -> None:
    conf = SlurmConf(context.files)
    # An address, since every node reads this: localhost, or a name that only the controller knows, would be wrong
    # on all others (field report Q-06).
    conf.set("AccountingStorageHost", context.identity.address)
    conf.set("AccountingStoragePort", SLURMDBD_PORT)
    conf.set("AccountingStorageType", "accounting_storage/slurmdbd")
    conf.set_default("JobAcctGatherType", "jobacct_gather/linux")
    if "gpu" in (conf.get("GresTypes") or "").split(","):
        conf.set_default("AccountingStorageTRES", "gres/gpu")


def _forget_cluster_id(context: Context) -> None:
    """After a change of database: slurmctld takes its cluster id from the new one at its next start."""
    folder = SlurmConf(context.files).get("StateSaveLocation")
    if not folder or not context.files.exists(f"{folder}/clustername"):
        return
    running = unit_states(context, "slurmctld")["slurmctld"].is_running
    if running:
        context.runner.run(["systemctl", "stop", "slurmctld"], timeout_seconds=120)
    context.files.remove(f"{folder}/clustername")
    if running:
        context.runner.run(["systemctl", "start", "slurmctld"], timeout_seconds=120)
        context.did("restarted slurmctld")


CONFIGURE_ACCOUNTING = Step(
    name="configure_accounting",
    summary="Set up the accounting database and slurmdbd, restore its history, before slurmctld's first start",
    run=run,
    node_types=("controller",),
    styles=("on_create",),
    timeout_seconds=420,
)
