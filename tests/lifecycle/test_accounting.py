"""Accounting: the database before slurmctld, no secret anywhere it could be seen, history kept."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from nodelib.runner import Result
from nodelib.slurm_conf import SlurmConf, value_of
from steps.accounting import CONFIGURE_ACCOUNTING
from steps.accounting_backup import DUMP_ACCOUNTING, SCHEDULE_ACCOUNTING_DUMP
from steps.slurm_accounts import REGISTER_ACCOUNTS

from tests.lifecycle.support import Machine, node_config, units

SLURM_CONF = "/opt/slurm/etc/slurm.conf"
SLURMDBD_CONF = "/opt/slurm/etc/slurmdbd.conf"
DUMP = "/fsx/.hyperpod/demo/accounting/slurm_acct_db.sql.gz"
MARKER = "/var/lib/hyperpod-constructs/accounting_history"
SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:db"
EXTERNAL = {"kind": "external", "endpoint": "db.example", "port": 3307, "secret_arn": SECRET}


@pytest.fixture
def node(machine: Machine) -> Machine:
    units(machine, "mariadb", "slurmdbd", "slurmctld")
    machine.put("/etc/passwd", "root:x:0:0::/root:/bin/bash\nslurm:x:401:402::/:/bin/false\n")
    machine.put(
        SLURM_CONF, "ClusterName=Demo\nSlurmUser=slurm\nGresTypes=gpu\nStateSaveLocation=/var/spool/slurmctld\n"
    )
    machine.put("/usr/bin/mariadb", "")
    machine.put("/usr/bin/mariadb-dump", "")
    machine.put("/fsx/x", "")
    machine.runner.answer("mariadb", does=lambda _argv, stdin: Result(0, "0\n" if "COUNT" in stdin else "", ""))
    return machine


def dumped(node: Machine, text: str) -> None:
    def write(argv: list[str], _stdin: str) -> None:
        name = next(word for word in argv if word.startswith("--result-file=")).partition("=")[2]
        Path(name).write_text(text)

    node.runner.answer("mariadb-dump", does=write)
    node.runner.answer("mariadb", does=lambda _argv, stdin: Result(0, "40\n" if "COUNT" in stdin else "", ""))


def test_everything_is_set_up_in_an_order_that_keeps_the_cluster_id(node: Machine) -> None:
    [result] = node.run(node.context("controller"), CONFIGURE_ACCOUNTING)
    assert result.outcome == "ok", node.log
    started = [argv[-1] for argv in node.runner.ran("systemctl", "enable", "--now")]
    assert started == ["mariadb", "slurmdbd"]
    assert node.runner.ran("sacctmgr", "-i") == [["sacctmgr", "-i", "add", "cluster", "Demo"]]
    conf = SlurmConf(node.files)
    assert conf.get("AccountingStorageType") == "accounting_storage/slurmdbd"
    assert conf.get("AccountingStorageHost") == "10.77.0.10", "an address: every node reads this file"
    assert conf.get("AccountingStorageTRES") == "gres/gpu"


def test_local_database_needs_no_password(node: Machine) -> None:
    node.run(node.context("controller"), CONFIGURE_ACCOUNTING)
    text = node.get(SLURMDBD_CONF)
    assert value_of(text, "StorageUser") == "slurm"
    assert "StoragePass" not in text
    assert "IDENTIFIED VIA unix_socket" in "".join(call.stdin for call in node.runner.calls)
    target = node.root / SLURMDBD_CONF.lstrip("/")
    assert target.stat().st_mode & 0o777 == 0o600
    assert node.ownership.get(target) == (401, 402)


def test_second_run_changes_and_restarts_nothing(node: Machine) -> None:
    context = node.context("controller")
    node.run(context, CONFIGURE_ACCOUNTING)
    node.runner.answer("sacctmgr", "-n", "-P", "show", "cluster", stdout="demo\n")
    before = node.snapshot()
    node.runner.calls.clear()
    [result] = node.run(context, CONFIGURE_ACCOUNTING)
    assert (result.changed, node.snapshot() == before) == ((), True)
    assert [call.argv for call in node.runner.calls if call.argv[:2] == ["systemctl", "restart"]] == []


def test_mariadb_gets_what_slurm_asks_for_but_keeps_what_the_image_chose(node: Machine) -> None:
    node.put("/etc/mysql/conf.d/image.cnf", "[mysqld]\ninnodb-buffer-pool-size=32M\n#max_allowed_packet=1M\n")
    context = node.context("controller")
    node.run(context, CONFIGURE_ACCOUNTING)
    lines = node.get("/etc/mysql/mariadb.conf.d/90-hyperpod-constructs.cnf").splitlines()[2:]
    assert lines == [
        "bind-address=127.0.0.1",
        "innodb_lock_wait_timeout=900",
        "max_allowed_packet=16M",
        "loose_innodb_snapshot_isolation=OFF",
    ]


def test_image_s_paths_for_slurmdbd_are_kept(node: Machine) -> None:
    node.put(f"{SLURMDBD_CONF}.template", "PidFile=/run/x.pid\nStorageUser=${USER}\nStoragePass=${PASSWORD}\n")
    node.run(node.context("controller"), CONFIGURE_ACCOUNTING)
    text = node.get(SLURMDBD_CONF)
    assert "PidFile=/run/x.pid" in text
    assert "$" not in text


def test_database_that_comes_late_is_waited_for(node: Machine) -> None:
    node.runner.answer("sacctmgr", "-n", returncode=1, stderr="Connection refused")
    node.clock.after(90, lambda: node.runner.answer("sacctmgr", "-n"))
    assert node.run(node.context("controller"), CONFIGURE_ACCOUNTING)[0].outcome == "ok"
    assert len(node.runner.ran("sacctmgr", "-i", "add", "cluster")) == 1


def test_database_that_never_comes_fails_with_the_journal(node: Machine) -> None:
    node.runner.answer("sacctmgr", "-n", returncode=1, stderr="Connection refused")
    node.runner.answer("journalctl", stdout="slurmdbd: error: Can't connect to MySQL server\n")
    [result] = node.run(node.context("controller"), CONFIGURE_ACCOUNTING)
    assert "waited 240 s for slurmdbd to answer" in result.remarks[-1]
    assert "Can't connect to MySQL server" in result.remarks[-1]


def test_external_database_takes_its_password_from_the_secret_and_shows_it_nowhere(node: Machine) -> None:
    secret = json.dumps({"username": "admin", "password": "hunter2"})
    node.runner.answer("aws", stdout=secret)
    [result] = node.run(node.context("controller", node_config(accounting=EXTERNAL)), CONFIGURE_ACCOUNTING)
    assert result.outcome == "ok", node.log
    text = node.get(SLURMDBD_CONF)
    assert [value_of(text, key) for key in ("StorageHost", "StoragePort", "StorageUser", "StoragePass")] == [
        "db.example",
        "3307",
        "admin",
        "hunter2",
    ]
    assert value_of(text, "StorageLoc") == "slurm_acct_db_abc", "as the service names it, by the cluster's id"
    assert not any("hunter2" in word for call in node.runner.calls for word in call.argv)
    assert "hunter2" not in "".join(node.log)
    [fetched] = [call for call in node.runner.calls if call.argv[0] == "aws"]
    assert (fetched.secret, fetched.argv[-2:]) == (True, ["--region", "us-west-2"])
    assert node.runner.ran("mariadb") == []


def test_secret_of_another_form_is_refused_without_showing_it(node: Machine) -> None:
    node.runner.answer("aws", stdout="hunter2")
    [result] = node.run(node.context("controller", node_config(accounting=EXTERNAL)), CONFIGURE_ACCOUNTING)
    assert result.remarks == (f"secret {SECRET}: expected a JSON object with username and password",)


def test_changed_database_makes_a_running_slurmctld_forget_its_cluster_id(node: Machine) -> None:
    node.put("/var/spool/slurmctld/clustername", "Demo:1234")
    node.units["slurmctld"] |= {"ActiveState": "active", "UnitFileState": "enabled"}
    node.run(node.context("controller"), CONFIGURE_ACCOUNTING)
    assert not node.files.exists("/var/spool/slurmctld/clustername")
    verbs = [argv[1] for argv in node.runner.ran("systemctl") if argv[-1] == "slurmctld" and argv[1] != "show"]
    assert verbs == ["stop", "start"]


def test_none_sets_nothing_up(node: Machine) -> None:
    [result] = node.run(node.context("controller", node_config(accounting={"kind": "none"})), CONFIGURE_ACCOUNTING)
    assert (result.outcome, result.changed) == ("ok", ())


def test_history_is_restored_into_an_empty_database_before_slurmdbd_starts(node: Machine) -> None:
    node.put(DUMP, "")
    (node.root / DUMP.lstrip("/")).write_bytes(gzip.compress(b"CREATE TABLE old_jobs;"))
    seen: list[str] = []

    def client(_argv: list[str], stdin: str) -> Result:
        if "SOURCE" in stdin:
            seen.append(Path(stdin.partition("SOURCE ")[2].partition(";")[0]).read_text())
        return Result(0, "0\n" if "COUNT" in stdin else "", "")

    node.runner.answer("mariadb", does=client)
    [result] = node.run(node.context("controller"), CONFIGURE_ACCOUNTING)
    assert seen == ["CREATE TABLE old_jobs;"]
    assert f"restored the accounting history from {DUMP}" in result.changed
    order = [" ".join(call.argv[-3:]) + call.stdin for call in node.runner.calls]
    restored = next(index for index, text in enumerate(order) if "SOURCE" in text)
    assert restored < order.index("enable --now slurmdbd")
    assert sorted(path.name for path in (node.root / DUMP.lstrip("/")).parent.iterdir()) == ["slurm_acct_db.sql.gz"]


def test_history_is_not_restored_over_tables_that_are_there(node: Machine) -> None:
    (node.root / DUMP.lstrip("/")).parent.mkdir(parents=True)
    (node.root / DUMP.lstrip("/")).write_bytes(gzip.compress(b"CREATE TABLE old_jobs;"))
    node.runner.answer("mariadb", does=lambda _argv, stdin: Result(0, "40\n" if "COUNT" in stdin else "", ""))
    [result] = node.run(node.context("controller"), CONFIGURE_ACCOUNTING)
    assert not any("restored" in change for change in result.changed)


def test_dump_is_written_for_root_alone_and_only_when_it_differs(node: Machine) -> None:
    context = node.context("controller")
    node.units["mariadb"]["ActiveState"] = "active"
    node.put(MARKER, "")
    dumped(node, "history one")
    assert DUMP in node.run(context, DUMP_ACCOUNTING)[0].changed
    target = node.root / DUMP.lstrip("/")
    assert (gzip.decompress(target.read_bytes()), target.stat().st_mode & 0o777) == (b"history one", 0o600)
    assert node.run(context, DUMP_ACCOUNTING)[0].changed == ()
    dumped(node, "history two")
    assert node.run(context, DUMP_ACCOUNTING)[0].changed == (DUMP,)
    assert gzip.decompress(target.read_bytes()) == b"history two"


def test_history_that_was_never_restored_is_not_overwritten(node: Machine) -> None:
    target = node.root / DUMP.lstrip("/")
    target.parent.mkdir(parents=True)
    target.write_bytes(gzip.compress(b"old history"))
    node.units["mariadb"]["ActiveState"] = "active"
    dumped(node, "new history")
    [result] = node.run(node.context("controller", style="on_init_complete"), DUMP_ACCOUNTING)
    kept = [path for path in target.parent.iterdir() if path != target]
    assert [gzip.decompress(path.read_bytes()) for path in kept] == [b"old history"]
    assert f"kept as /fsx/.hyperpod/demo/accounting/{kept[0].name}" in result.remarks[0]
    assert gzip.decompress(target.read_bytes()) == b"new history"


def test_empty_database_is_never_dumped_over_a_history(node: Machine) -> None:
    node.units["mariadb"]["ActiveState"] = "active"
    node.put(MARKER, "")
    [result] = node.run(node.context("controller"), DUMP_ACCOUNTING)
    assert result.remarks == ("the accounting database has no tables yet",)


def test_dumps_are_scheduled_by_timer_and_at_shutdown(node: Machine) -> None:
    document = node_config(accounting_backup_minutes=30)
    [result] = node.run(node.context("controller", document), SCHEDULE_ACCOUNTING_DUMP)
    assert result.outcome == "passed_over", "the fake systemd does not know the new units"
    timer = node.get("/etc/systemd/system/hyperpod-constructs-accounting-dump.timer")
    assert "OnUnitActiveSec=30min" in timer
    service = node.get("/etc/systemd/system/hyperpod-constructs-accounting-dump.service")
    command = "/usr/bin/python3 -B /opt/hyperpod-constructs/lifecycle_script.py --only dump_accounting"
    assert f"ExecStart={command}\n" in service


def users(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "uid": 2000 + n, "gid": 2000 + n, "account": acc} for n, (name, acc) in enumerate(pairs)]


def test_accounts_and_associations_are_added_once(node: Machine) -> None:
    document = node_config(users=users(("alice", "Research"), ("bob", "research"), ("carol", "default")))
    node.runner.answer("sacctmgr", "-n", "-P", "show", "associations", stdout="root|\nroot|root\nresearch|\n")
    node.run(node.context("controller", document), REGISTER_ACCOUNTS)
    assert [argv[2:6] for argv in node.runner.ran("sacctmgr", "-i")] == [
        ["add", "account", "default", "cluster=Demo"],
        ["add", "user", "carol", "account=default"],
        ["add", "user", "alice,bob", "account=research"],
    ]
    present = "research|\nresearch|alice\nresearch|bob\ndefault|\ndefault|carol\n"
    node.runner.answer("sacctmgr", "-n", "-P", "show", "associations", stdout=present)
    node.runner.calls.clear()
    assert node.run(node.context("controller", document), REGISTER_ACCOUNTS)[0].changed == ()
    assert node.runner.ran("sacctmgr", "-i") == []


def test_accounts_wait_in_the_background_for_a_slurmdbd_that_the_image_starts(node: Machine) -> None:
    node.runner.answer("sacctmgr", "-n", returncode=1)
    [result] = node.run(node.context("controller", style="on_init_complete"), REGISTER_ACCOUNTS)
    assert (result.outcome, result.remarks) == ("deferred", ("slurmdbd does not answer yet",))


def test_error_of_sacctmgr_is_not_hidden(node: Machine) -> None:
    node.runner.answer("sacctmgr", "-i", returncode=1, stderr="Database is busy")
    document = node_config(users=users(("alice", "research")))
    [result] = node.run(node.context("controller", document), REGISTER_ACCOUNTS)
    assert (result.outcome, "Database is busy" in result.remarks[0]) == ("failed", True)
