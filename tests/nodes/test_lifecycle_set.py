"""The whole set of node scripts on real Slurm nodes: what users get, and what a second run leaves alone."""

from collections.abc import Iterator

import pytest

from hyperpod_constructs.rehearsal.agent import NodeType
from hyperpod_constructs.rehearsal.nodes import Bed

from .conftest import SlurmCluster, within
from .lifecycle_support import FINGERPRINT, node_config, run_again, stage, summary, use

pytestmark = pytest.mark.nodes

NODES = ("controller-1", "login-1", "train-1", "train-2")
DUMP = "python3 -B /opt/hyperpod-constructs/lifecycle_script.py --only dump_accounting"


@pytest.fixture(scope="module")
def cluster(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    """A controller, a login node and two compute nodes with everything that is on by default."""
    made = SlurmCluster(bed=bed, network=80)
    try:
        use(made, stage(tmp_path_factory.mktemp("scripts"), node_config(made)))
        controller = made.instance("controller", 1, NodeType.CONTROLLER)
        assert [result.reason for result in made.bring_up(controller)] == [""], made.lines
        login = made.instance("login", 1, NodeType.LOGIN)
        workers = [made.instance("train", number, NodeType.COMPUTE) for number in (1, 2)]
        assert [result.reason for result in made.bring_up(login, *workers)] == ["", "", ""], made.lines
        assert made.all_idle(*workers)
        yield made
    finally:
        made.end_all()


def as_alice(cluster: SlurmCluster, command: str) -> str:
    return cluster.on("login-1", f"su - alice -c '{command}'")


def test_every_step_succeeds_on_every_node(cluster: SlurmCluster) -> None:
    for node in NODES:
        steps = summary(cluster, node)["steps"]
        assert {step["step"]: step["outcome"] for step in steps if step["outcome"] != "ok"} == {}
        assert sum(step["seconds"] for step in steps) < 120
    assert cluster.platform.edits == []


def test_job_of_a_user_runs_on_all_nodes_and_is_accounted_to_the_user_s_account(cluster: SlurmCluster) -> None:
    assert len(set(as_alice(cluster, "srun -p train -N2 hostname").split())) == 2
    assert within(20, lambda: "research" in as_alice(cluster, "sacct -n -X -o account%20,state | grep COMPLETED; true"))


def test_batch_job_writes_to_the_shared_home(cluster: SlurmCluster) -> None:
    as_alice(cluster, 'sbatch -p train -N2 -o out.txt --wrap "srun hostname"')
    written = "sort -u /fsx/home/alice/out.txt 2>/dev/null | grep -c ^ip-; true"
    assert within(20, lambda: cluster.on("train-2", written).strip() == "2")


def test_user_reaches_every_node_without_a_password_and_is_root_where_allowed(cluster: SlurmCluster) -> None:
    hosts = [cluster.instances[node].host_name for node in NODES]
    loop = f"for host in {' '.join(hosts)}; do ssh -o BatchMode=yes $host hostname; done"
    assert as_alice(cluster, loop).split() == hosts
    assert as_alice(cluster, "sudo -n id -u").strip() == "0"
    assert as_alice(cluster, "pwd").strip() == "/fsx/home/alice"


def test_no_job_lands_on_the_login_node(cluster: SlurmCluster) -> None:
    assert cluster.state(cluster.instances["login-1"]) == "drained"
    shown = cluster.on("controller-1", f"scontrol show node {cluster.instances['login-1'].host_name}")
    assert "login node: takes no jobs" in shown


def test_daemons_run_where_they_belong_and_nowhere_else(cluster: SlurmCluster) -> None:
    for node in NODES:
        active = cluster.on(node, "systemctl is-active slurmctld slurmdbd slurmd; true").split()
        assert active == (["active", "active", "inactive"] if node == "controller-1" else ["inactive"] * 2 + ["active"])
    cluster.on("controller-1", "systemctl start slurmd; test -e /opt/slurm/etc/slurm.conf")


def test_second_run_changes_no_file_and_restarts_nothing(cluster: SlurmCluster) -> None:
    started = "systemctl show -p ActiveEnterTimestamp munge slurmctld slurmdbd slurmd mariadb"
    for node in NODES:
        before = cluster.on(node, f"{FINGERPRINT}; {started}")
        steps = run_again(cluster, node)["steps"]
        assert {step["step"]: step["changed"] for step in steps if step["changed"]} == {}
        assert cluster.on(node, f"{FINGERPRINT}; {started}") == before


def dump_digest(cluster: SlurmCluster) -> str:
    """Digest of the accounting dump, without the times in it, once slurmdbd has written all that jobs left to do."""
    look = f"{DUMP} >/dev/null && zcat /fsx/.hyperpod/*/accounting/*.sql.gz | sha256sum"
    digests = [cluster.on("controller-1", look)]

    def settled() -> bool:
        digests.append(cluster.on("controller-1", look))
        return digests[-1] == digests[-2]

    assert within(30, settled)
    return digests[-1]


def test_second_run_leaves_the_accounting_database_as_it_is(cluster: SlurmCluster) -> None:
    before = dump_digest(cluster)
    run_again(cluster, "controller-1")
    assert dump_digest(cluster) == before


def test_rebooted_controller_serves_again_without_any_script(cluster: SlurmCluster) -> None:
    controller = cluster.instances["controller-1"]
    cluster.platform.reboot(cluster.plan(controller))
    assert within(30, lambda: "is UP" in cluster.on("controller-1", "scontrol ping || true"))
    active = cluster.on("controller-1", "systemctl is-active munge mariadb slurmdbd slurmctld slurmd; true").split()
    assert active == ["active"] * 4 + ["inactive"]
    assert cluster.all_idle(cluster.instances["train-1"], cluster.instances["train-2"], seconds=60)
    assert as_alice(cluster, "srun -p train hostname").startswith("ip-")


def test_rebooted_node_comes_back_idle(cluster: SlurmCluster) -> None:
    worker = cluster.instances["train-1"]
    cluster.platform.reboot(cluster.plan(worker))
    assert cluster.all_idle(worker)
    assert "fsx" in cluster.on("train-1", "findmnt -n -o SOURCE /fsx")


def test_replaced_node_rejoins_and_is_known_to_the_users_clients(cluster: SlurmCluster) -> None:
    worker = cluster.instances["train-2"]
    cluster.platform.remove(worker)
    assert [result.reason for result in cluster.bring_up(worker)] == [""]
    assert cluster.all_idle(worker)
    assert as_alice(cluster, f"ssh -o BatchMode=yes {worker.host_name} hostname").strip() == worker.host_name
    assert cluster.on("login-1", "grep -c . /fsx/home/alice/.ssh/authorized_keys").strip() == "3"


def test_history_outlives_the_controller(cluster: SlurmCluster) -> None:
    as_alice(cluster, "srun -p train -J remembered true")
    assert within(20, lambda: "remembered" in as_alice(cluster, "sacct -n -X -o jobname%20 -S 2020-01-01"))
    cluster.on("controller-1", DUMP)
    controller = cluster.instances["controller-1"]
    cluster.platform.remove(controller)
    assert [result.reason for result in cluster.bring_up(controller)] == [""], cluster.lines["controller-1"]
    assert cluster.all_idle(cluster.instances["train-1"], cluster.instances["train-2"], seconds=60)
    assert "remembered" in as_alice(cluster, "sacct -n -X -o jobname%20 -S 2020-01-01")
    assert as_alice(cluster, "srun -p train hostname").startswith("ip-")
    rows = cluster.on("controller-1", "sacctmgr -nP show associations format=account,user").split()
    assert sorted(rows) == sorted(set(rows)), "nothing is there twice"
    assert cluster.platform.edits == []


@pytest.mark.parametrize(
    ("change", "repaired"),
    [
        ("echo TopologyPlugin=topology/tree >>/opt/slurm/etc/hyperpod_constructs.conf", "TopologyPlugin"),
        ("echo '[]' >/opt/slurm/etc/topology.yaml", "topology: default"),
    ],
)
def test_broken_topology_does_not_keep_slurmctld_from_starting(
    cluster: SlurmCluster, change: str, repaired: str
) -> None:
    cluster.on("controller-1", f"{change}; systemctl restart slurmctld")
    assert cluster.all_idle(cluster.instances["train-1"])
    text = cluster.on("controller-1", "cat /opt/slurm/etc/hyperpod_constructs.conf /opt/slurm/etc/topology.yaml; true")
    assert (repaired in text) == (repaired != "TopologyPlugin")
    assert as_alice(cluster, "srun -p train hostname").startswith("ip-")
