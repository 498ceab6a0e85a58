"""An accounting database outside of the cluster, on real nodes: it is late, it is missing, it knows other clusters."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.agent import NodeType
from hyperpod_constructs.rehearsal.nodes import Bed

from .conftest import SlurmCluster, within
from .lifecycle_support import install_aws, launch, node_config, run_again, stage, use

pytestmark = pytest.mark.nodes

MakeCluster = Callable[..., SlurmCluster]
ADDRESS = "10.250.0.5"
# With everything that Slurm's own files read as something else.
PASSWORD = "it's\"so#1\\2"
SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-database"
EXTERNAL = {"kind": "external", "endpoint": ADDRESS, "port": 3307, "secret_arn": SECRET, "database_name": "acct"}
START = "systemctl enable --now mariadb"
# As a managed database is: reached over the network, with an account that has a password.
SETTINGS = "[mysqld]\nbind-address=0.0.0.0\nport=3307\ninnodb_snapshot_isolation=OFF\n"


@pytest.fixture(scope="module")
def database(bed: Bed) -> Iterator[str]:
    """A node that plays the managed database; it runs."""
    host = "database"
    bed.add(host, ADDRESS)
    bed.put(host, {"/etc/mysql/mariadb.conf.d/90-test.cnf": SETTINGS.encode()})
    bed.run(host, ["sh", "-c", START], check=True)
    quoted = PASSWORD.replace("\\", "\\\\").replace("'", "''")
    statements = f"CREATE USER admin@'%' IDENTIFIED BY '{quoted}'; GRANT ALL ON *.* TO admin@'%';"
    bed.run(host, ["mariadb"], stdin=statements.encode(), check=True)
    yield host
    bed.remove(host)


def aws(bed: Bed, host: str) -> None:
    install_aws(bed, host, secrets={"slurm-database": json.dumps({"username": "admin", "password": PASSWORD})})


def test_database_that_is_late_is_waited_for_and_its_password_is_nowhere_to_be_seen(
    bed: Bed, database: str, make_cluster: MakeCluster, tmp_path: Path
) -> None:
    cluster = make_cluster()
    bounds = {"DATABASE_TIMEOUT_SECONDS": ("steps/accounting.py", 40.0)}
    use(cluster, stage(tmp_path, node_config(cluster, accounting=EXTERNAL), bounds=bounds))
    bed.run(database, ["systemctl", "stop", "mariadb"], check=True)
    later = threading.Timer(9, bed.run, [database, ["systemctl", "start", "mariadb"]], {"check": True})
    later.start()
    controller = cluster.instance("controller", 1, NodeType.CONTROLLER)
    [result] = launch(cluster, controller, before=lambda host: aws(bed, host))
    later.join()
    assert result.ok, cluster.lines["controller-1"][-2:]
    assert result.seconds > 5, "the database was not late"
    worker = cluster.instance("train", 1, NodeType.COMPUTE)
    assert launch(cluster, worker)[0].ok, cluster.lines
    assert cluster.all_idle(worker)
    cluster.on("controller-1", "su - alice -c 'srun -p train true'")
    shown = "sacct -n -X -a -o account%20,state"
    assert within(
        20, lambda: ["research", "COMPLETED"] in [r.split() for r in cluster.on("train-1", shown).splitlines()]
    )
    assert PASSWORD not in "\n".join(cluster.lines["controller-1"])
    look = ["grep", "-rlsF", "-f", "-", "/opt", "/etc", "/var/log", "/tmp"]
    found = bed.run(controller.host_name, look, stdin=b"it's\"so\n").stdout.split()
    assert found == ["/opt/slurm/etc/slurmdbd.conf"]
    assert cluster.on("controller-1", f"stat -c %a {found[0]}").strip() == "600"
    unchanged = "sha256sum /opt/slurm/etc/*.conf; systemctl show -p ActiveEnterTimestamp slurmdbd slurmctld"
    before = cluster.on("controller-1", unchanged)
    run_again(cluster, "controller-1")
    assert before == cluster.on("controller-1", unchanged)


def test_database_that_holds_other_clusters_takes_one_more(
    bed: Bed, database: str, make_cluster: MakeCluster, tmp_path: Path
) -> None:
    for number in range(2):
        cluster = make_cluster()
        use(cluster, stage(tmp_path / str(number), node_config(cluster, accounting=EXTERNAL)))
        controller = cluster.instance("controller", 1, NodeType.CONTROLLER)
        assert launch(cluster, controller, before=lambda host: aws(bed, host))[0].ok, cluster.lines
    names = cluster.on("controller-1", "sacctmgr -nP show cluster format=cluster").split()
    assert len(names) >= 2
    assert f"test{cluster.network}" in names
    # slurmctld took its id from the database: it would loop over a mismatch (field report Q-01).
    assert "is UP" in cluster.on("controller-1", "scontrol ping")
    assert "mismatch" not in cluster.on("controller-1", "journalctl -u slurmctld; cat /var/log/slurm/*.log").lower()


def test_database_that_never_comes_fails_the_controller_with_what_slurmdbd_said(
    bed: Bed, make_cluster: MakeCluster, tmp_path: Path
) -> None:
    cluster = make_cluster()
    nowhere = {**EXTERNAL, "endpoint": "10.250.0.99"}
    bounds = {"DATABASE_TIMEOUT_SECONDS": ("steps/accounting.py", 6.0)}
    use(cluster, stage(tmp_path, node_config(cluster, accounting=nowhere), bounds=bounds))
    controller = cluster.instance("controller", 1, NodeType.CONTROLLER)
    [result] = launch(cluster, controller, before=lambda host: aws(bed, host))
    assert (result.ok, result.exit_code) == (False, 1)
    last = cluster.lines["controller-1"][-1]
    assert "FAILED: step configure_accounting: waited 6 s for slurmdbd to answer; its journal ends: " in last
    assert "10.250.0.99" in last
    assert cluster.on("controller-1", "systemctl is-active slurmctld; true").strip() == "inactive"


def test_busy_slurmctld_is_asked_again(make_cluster: MakeCluster, tmp_path: Path) -> None:
    cluster = make_cluster()
    config = node_config(cluster, accounting={"kind": "none"})
    use(cluster, stage(tmp_path, config))
    assert launch(cluster, cluster.instance("controller", 1, NodeType.CONTROLLER))[0].ok, cluster.lines
    changed = json.dumps({**config, "slurm_settings": {"MessageTimeout": "20"}})
    bed_path = "/opt/hyperpod-constructs/node_config.json"
    cluster.bed.put(cluster.instances["controller-1"].host_name, {bed_path: changed.encode()})
    # Stopped, it holds its connections and answers nothing, as when it is busy.
    stopped = "systemctl kill -s STOP slurmctld; (sleep 12; systemctl kill -s CONT slurmctld) >/dev/null 2>&1 &"
    rerun = "python3 -B /opt/hyperpod-constructs/lifecycle_script.py --only set_slurm_settings"
    assert "slurmctld reconfigured" in cluster.on("controller-1", f"{stopped} {rerun}", seconds=120)
    assert "MessageTimeout          = 20 sec" in cluster.on("controller-1", "scontrol show config")
