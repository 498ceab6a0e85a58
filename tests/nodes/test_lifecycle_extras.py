"""What a site adds to the default set, on real nodes: containers, agents, packages, its own steps, and jobs.

What Debian lacks stands in (tests/nodes/standins, each marked as such): that our steps configure it, and that the
configuration reaches every node, is real; that the real programs take it is not shown here.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hyperpod_constructs.rehearsal.agent import NodeType
from hyperpod_constructs.rehearsal.nodes import Bed

from .conftest import REPOSITORY, SlurmCluster, within
from .lifecycle_support import ALICE, STANDINS, install_aws, launch, node_config, run_again, stage, summary, use

pytestmark = pytest.mark.nodes

NODES = ("controller-1", "login-1", "train-1", "train-2")
VOLUMES = ("/opt/sagemaker", "/opt/dlami/nvme")
EXAMPLES = REPOSITORY / "examples"
BOB = {"name": "bob", "uid": 2002, "gid": 2002, "account": "research"}
LDAP = ["ldaps://ldap.example.com", "dc=example,dc=com", "cn=reader", "arn:aws:secretsmanager:r:1:secret:directory"]
ENROOT = "#ENROOT_RUNTIME_PATH        ${XDG_RUNTIME_DIR}/enroot\n#ENROOT_DATA_PATH  /old\nENROOT_ROOTFS_WRITABLE yes\n"
DOCKER = (
    "[Service]\nExecStart=/usr/bin/dockerd\n[Install]\nWantedBy=multi-user.target\n",
    "[Service]\nExecStart=/usr/bin/sssd\n[Install]\nWantedBy=multi-user.target\n",
)
# As a first-boot update does: it holds dpkg's lock for some seconds.
HOLD_LOCK = (
    "systemd-run --quiet --unit=first-boot-update python3 -c "
    "\"import fcntl, time; f = open('/var/lib/dpkg/lock-frontend', 'w'); fcntl.lockf(f, fcntl.LOCK_EX); time.sleep(6)\""
)


def package(folder: Path) -> bytes:
    """A Debian package with one file."""
    root = folder / "package"
    (root / "DEBIAN").mkdir(parents=True)
    control = (
        "Package: site-tool\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody <n@example.com>\nDescription: x\n"
    )
    (root / "DEBIAN/control").write_text(control)
    (root / "usr/share/site-tool").mkdir(parents=True)
    (root / "usr/share/site-tool/file").write_text("content\n")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", root, folder / "x.deb"], check=True, capture_output=True)
    return (folder / "x.deb").read_bytes()


def pinned(name: str, key: str, content: bytes) -> dict[str, str]:
    return {"name": name, "url": f"s3://{key}", "sha256": hashlib.sha256(content).hexdigest()}


def user_step(name: str, *arguments: str, node_types: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "name": name,
        "path": f"user_steps/{name}/install.sh",
        "node_types": list(node_types),
        "arguments": list(arguments),
    }


class Site:
    """What a site's deployment holds, and the image that its nodes boot from."""

    def __init__(self, bed: Bed, folder: Path) -> None:
        self.bed = bed
        agent = (STANDINS / "agent.sh").read_bytes()
        self.s3 = {"packages/site-tool.deb": package(folder), "packages/agent": agent}
        self.compiler = shutil.which("cc")
        self.folder = folder

    def config(self, cluster: SlurmCluster) -> dict[str, Any]:
        settings = ["set-up", "--remote-write-url", "https://aps.example.com/api/v1/remote_write"]
        metrics = {
            "name": "metrics",
            "path": "files/node_metrics.py",
            "stage": "before_slurm",
            "required": False,
            "arguments": [*settings, "--scrape-interval-seconds", "2"],
        }
        agent = pinned("collector", "packages/agent", self.s3["packages/agent"])
        config_file = "--config.file=/etc/hyperpod-constructs/prometheus.json"
        return node_config(
            cluster,
            users=[ALICE, BOB],
            container_packages=[pinned("site-tool", "packages/site-tool.deb", self.s3["packages/site-tool.deb"])],
            agents=[{**agent, "arguments": [config_file]}],
            user_steps=[
                metrics,
                user_step("pam_slurm_adopt", "ml", node_types=("compute",)),
                user_step("sssd_ldap", *LDAP),
                user_step("mount_s3", "data-bucket", "/s3/data"),
            ],
        )

    def make_image(self, host: str) -> None:
        """Put the stand-ins on a node that has booted."""
        install_aws(self.bed, host, secrets={"directory": "hunter2"}, s3=self.s3)
        programs = {
            "dockerd": "dockerd.py",
            "sssd": "sssd.sh",
            "mount-s3": "mount-s3.sh",
        }
        files: dict[str, bytes | tuple[bytes, int]] = {
            "/etc/systemd/system/docker.service": DOCKER[0].encode(),
            "/etc/systemd/system/sssd.service": DOCKER[1].encode(),
            "/etc/enroot/enroot.conf": ENROOT.encode(),
        }
        files |= {f"/usr/bin/{name}": ((STANDINS / file).read_bytes(), 0o755) for name, file in programs.items()}
        if self.compiler:
            files["/usr/local/lib/slurm/spank_pyxis.so"] = (self._pyxis(host), 0o755)
        self.bed.put(host, files)
        self.bed.run(host, ["systemctl", "daemon-reload"], check=True)
        self.bed.run(host, ["sh", "-c", HOLD_LOCK], check=True)

    def _pyxis(self, host: str) -> bytes:
        version = re.findall(r"\d+", self.bed.run(host, ["slurmd", "-V"], check=True).stdout)
        number = sum(int(part) << shift for part, shift in zip(version[:3], (16, 8, 0), strict=True))
        target = self.folder / f"pyxis-{host}.so"
        command = [str(self.compiler), "-shared", "-fPIC", f"-DSLURM_VERSION_NUMBER={number}", "-o", str(target)]
        subprocess.run([*command, str(STANDINS / "pyxis.c")], check=True, capture_output=True)
        return target.read_bytes()


@pytest.fixture(scope="module")
def cluster(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    made = SlurmCluster(bed=bed, network=81)
    folder = tmp_path_factory.mktemp("site")
    site = Site(bed, folder)
    names = ("pam_slurm_adopt", "sssd_ldap", "mount_s3")
    scripts = {
        f"user_steps/{name}/install.sh": (EXAMPLES / "user_steps" / name / "install.sh").read_text() for name in names
    }
    try:
        use(made, stage(folder, site.config(made), scripts))
        first = made.instance("controller", 1, NodeType.CONTROLLER)
        assert [result.reason for result in launch(made, first, before=site.make_image)] == [""], made.lines
        rest = [
            made.instance("login", 1, NodeType.LOGIN),
            *(made.instance("train", number, NodeType.COMPUTE, "ml.g5.xlarge") for number in (1, 2)),
        ]
        results = launch(made, *rest, before=site.make_image, volumes=VOLUMES)
        assert [result.reason for result in results] == [""] * 3, made.lines
        assert made.all_idle(*rest[1:]), made.lines
        made.on("login-1", "install -d -o alice -g alice /fsx/home/alice/jobs")
        jobs = {f"/fsx/home/alice/jobs/{path.name}": path.read_bytes() for path in (EXAMPLES / "jobs").iterdir()}
        bed.put(rest[0].host_name, dict(jobs), owner="alice:alice")
        yield made
    finally:
        made.end_all()


def as_user(cluster: SlurmCluster, command: str, name: str = "alice") -> str:
    return cluster.on("login-1", f"su - {name} -c '{command}'", seconds=90)


def submit(cluster: SlurmCluster, job: str, *options: str, environment: str = "") -> str:
    """Submit an example job, wait for its end, return what it wrote."""
    words = " ".join(("sbatch", "--parsable", "--wait", "-p", "train", *options, job))
    return as_user(cluster, f"cd jobs && number=$({environment} {words}); code=$?; cat *-$number.out; exit $code")


def test_every_step_succeeds_with_everything_on(cluster: SlurmCluster) -> None:
    for node in NODES:
        steps = summary(cluster, node)["steps"]
        assert {step["step"]: step["remarks"] for step in steps if step["outcome"] != "ok"} == {}


def test_docker_and_enroot_keep_their_data_on_the_large_disks(cluster: SlurmCluster) -> None:
    cluster.on("train-1", "test -d /opt/sagemaker/docker/data-root/overlay2; systemctl is-active docker")
    lines = cluster.on("train-1", "cat /etc/enroot/enroot.conf").splitlines()
    assert "ENROOT_DATA_PATH /opt/dlami/nvme/enroot/data/user-$(id -u)" in lines
    assert "ENROOT_ROOTFS_WRITABLE yes" in lines
    assert not any("/old" in line for line in lines)
    cluster.on("controller-1", "test -d /var/lib/docker/overlay2")


def test_pyxis_options_reach_srun_on_every_node_through_the_controller_s_configuration(cluster: SlurmCluster) -> None:
    if not shutil.which("cc"):
        assert os.environ.get("CI") != "true", "no C compiler"
        pytest.skip("the stand-in for Pyxis needs a C compiler")
    shown = as_user(cluster, "srun -p train -N2 --container-image=/fsx/x.sqsh printenv STAND_IN_IMAGE").split()
    assert shown == ["/fsx/x.sqsh"] * 2
    output = submit(cluster, "container.sbatch", environment="IMAGE=/fsx/y.sqsh")
    assert output.count("inside a container") == 2


def test_package_is_installed_although_an_update_holds_dpkg_s_lock(cluster: SlurmCluster) -> None:
    [step] = [s for s in summary(cluster, "train-1")["steps"] if s["step"] == "install_container_packages"]
    assert step["seconds"] > 2, "the lock was held"
    assert cluster.on("train-1", "cat /usr/share/site-tool/file").strip() == "content"


def test_agents_run_with_the_configuration_that_the_metrics_step_wrote(cluster: SlurmCluster) -> None:
    for node in NODES:
        unit = "hyperpod-constructs-agent-collector"
        assert "https://aps.example.com" in cluster.on(node, f"systemctl is-active {unit}; journalctl -o cat -u {unit}")
        config = json.loads(cluster.on(node, "cat /etc/hyperpod-constructs/prometheus.json"))
        jobs = [scrape["job_name"] for scrape in config["scrape_configs"]]
        assert jobs == (
            ["node", "slurm"] if node == "controller-1" else ["node", "dcgm"] if "train" in node else ["node"]
        )
    metrics = "cat /var/lib/hyperpod-constructs/metrics/slurm.prom; true"
    assert within(40, lambda: 'slurm_partition_nodes{partition="train"} 2' in cluster.on("controller-1", metrics))


def test_ssh_to_a_compute_node_needs_a_job_there(cluster: SlurmCluster) -> None:
    host = cluster.instances["train-1"].host_name
    assert as_user(cluster, f"ssh -o BatchMode=yes {host} hostname").strip() == host, "group ml comes in always"
    refused = as_user(cluster, f"ssh -o BatchMode=yes {host} hostname 2>&1; true", "bob")
    assert "Access denied by pam_slurm_adopt: you have no active jobs on this node" in refused
    login = cluster.instances["login-1"].host_name
    assert as_user(cluster, f"ssh -o BatchMode=yes {login} hostname", "bob").strip() == login


def test_directory_and_bucket_are_there_and_the_password_is_not_in_the_log(cluster: SlurmCluster) -> None:
    for node in NODES:
        assert cluster.on(node, "systemctl is-active sssd; stat -c %a /etc/sssd/sssd.conf").split() == ["active", "600"]
        assert "ldap_default_authtok = hunter2" in cluster.on(node, "cat /etc/sssd/sssd.conf")
        assert "hunter2" not in "\n".join(cluster.lines[node])
    cluster.on("login-1", "echo data >/s3/data/file")
    assert cluster.on("train-2", "cat /s3/data/file").strip() == "data"


def test_second_run_of_everything_changes_and_restarts_nothing(cluster: SlurmCluster) -> None:
    look = (
        "find /etc /opt/slurm/etc /opt/hyperpod-constructs* -xdev -type f ! -path '*/resolv.conf' -print0 | sort -z"
        " | xargs -0 sha256sum; systemctl show -p ActiveEnterTimestamp docker sssd hyperpod-s3-s3-data.service"
        " hyperpod-constructs-agent-collector"
    )
    for node in ("controller-1", "train-1"):
        before = cluster.on(node, look)
        steps = run_again(cluster, node)["steps"]
        assert {step["step"]: step["changed"] for step in steps if step["changed"]} == {}
        assert cluster.on(node, look) == before


def test_smoke_job_finds_every_node_and_its_gpu(cluster: SlurmCluster) -> None:
    output = submit(cluster, "smoke.sbatch", "--gres=gpu:1")
    assert output.count(": ok, ") == 2
    assert output.count(", 1 GPUs") == 2
    assert "smoke test passed on 2 nodes" in output


def test_checkpointed_job_goes_on_where_it_ended(cluster: SlurmCluster) -> None:
    environment = "CHECKPOINTS=/fsx/home/alice/points SECONDS_PER_STEP=0.05 STEPS={}"
    assert "rank 1: done at step 3" in submit(cluster, "checkpointed.sbatch", environment=environment.format(3))
    output = submit(cluster, "checkpointed.sbatch", environment=environment.format(5))
    assert "rank 1: starts at step 3" in output
    assert "rank 0: done at step 5" in output


def test_nccl_job_starts_one_task_a_gpu_and_says_what_is_missing(cluster: SlurmCluster) -> None:
    missing = as_user(
        cluster, "cd jobs; sbatch --wait --ntasks-per-node=1 -p train -o missing nccl_all_reduce.sbatch; cat missing"
    )
    assert "build nccl-tests with MPI=1 on the shared file system and set NCCL_TESTS" in missing
    output = submit(
        cluster, "nccl_all_reduce.sbatch", "--ntasks-per-node=1", environment="NCCL_MPI=none NCCL_TESTS=/bin/echo"
    )
    assert output.splitlines() == ["-b 8 -e 8G -f 2 -g 1 -n 20"] * 2


def test_prolog_that_fails_drains_the_node_only_if_it_is_marked_as_required(cluster: SlurmCluster) -> None:
    worker = cluster.instances["train-2"]
    folder = "/opt/slurm/etc/prolog.d"
    run = f"srun -p train -w {worker.host_name} --immediate=20 hostname"
    cluster.on("train-2", f"printf 'set -u; touch /proc/x\\nexit 3\\n' >{folder}/10-optional.sh")
    assert as_user(cluster, run).strip() == worker.host_name
    assert cluster.all_idle(worker)
    cluster.on("train-2", f"echo 'exit 4' >{folder}/20-disk.required.sh")
    as_user(cluster, f"timeout 15 {run} >/dev/null 2>&1; true")
    assert within(20, lambda: "drain" in cluster.state(worker))
    shown = cluster.on("controller-1", f"scontrol show node {worker.host_name}")
    assert "Prolog error" in shown
    reported = cluster.on("train-2", "journalctl -o cat -t slurm-prolog")
    assert f"{folder}/10-optional.sh: exit code 3" in reported
