"""Prints how long real Slurm nodes take: the bed's start, a boot, and from the script's start to idle in each style.

The row without scripts is what Slurm itself needs where the image sets the node up: the other rows' floor. Asserts
nothing. As root on Linux with apt; elsewhere it says why not, and that is all.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
REPEAT = 3

sys.path.insert(0, str(ROOT))

from hyperpod_constructs import ClusterSpec, ComputeGroup, ControllerGroup, LifecycleScripts, LifecycleStyle  # noqa: E402
from hyperpod_constructs.bindings import Bindings, GroupBindings, LustreMount  # noqa: E402
from hyperpod_constructs.node_config import NODE_CONFIG_FILE, node_config  # noqa: E402
from hyperpod_constructs.rehearsal.agent.bench import measure, table  # noqa: E402
from hyperpod_constructs.rehearsal.agent.demonstration import LUSTRE  # noqa: E402
from hyperpod_constructs.rehearsal.bed_process import machine_problem  # noqa: E402
from hyperpod_constructs.rehearsal.environment import default_root  # noqa: E402
from hyperpod_constructs.rehearsal.nodes import DEFAULT_SUITE, SUITES, BedError  # noqa: E402

# Entry script of each style that has one, by the platform's name of the style.
ENTRIES = {
    "OnCreate": (LifecycleStyle.ON_CREATE, "on_create.sh"),
    "OnInitComplete": (LifecycleStyle.ON_INIT_COMPLETE, "on_init_complete.sh"),
}


def staged(folder: Path, style: LifecycleStyle) -> Path:
    """What a deployment uploads for the agent's small cluster, with every node of that style."""
    dns_name, _, mount_name = LUSTRE.partition("@tcp:/")
    spec = ClusterSpec(
        cluster_name="bench",
        controller=ControllerGroup(instance_type="ml.m5.2xlarge"),
        compute=[ComputeGroup(name="workers", instance_type="ml.m5.xlarge", partition="train")],
        lifecycle=LifecycleScripts(style=style),
    )
    group = GroupBindings(
        execution_role_arn="", mounts=(LustreMount(dns_name=dns_name, mount_name=mount_name, path="/fsx"),)
    )
    bindings = Bindings(subnet_ids=(), security_group_ids=(), groups=dict.fromkeys(("controller", "workers"), group))
    target = folder / style.name.lower()
    shutil.copytree(ROOT / "lifecycle_assets", target, ignore=shutil.ignore_patterns("__pycache__"))
    (target / NODE_CONFIG_FILE).write_text(json.dumps(node_config(spec, bindings)))
    return target


def say(text: str) -> None:
    """Tell whoever waits; the table alone is standard output."""
    sys.stderr.write(f"{text}\n")


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default=DEFAULT_SUITE, choices=sorted(SUITES))
    parser.add_argument("--repeat", type=int, default=REPEAT, help=f"nodes measured a style; default {REPEAT}")
    options = parser.parse_args()
    if problem := machine_problem(default_root()):
        sys.stdout.write(f"Slurm nodes are not measured here: {problem}\n")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        entries = {name: staged(Path(folder), style) / entry for name, (style, entry) in ENTRIES.items()}
        try:
            lines = table(measure(options.suite, entries, repeat=options.repeat, say=say))
        except BedError as error:
            sys.stdout.write(f"Slurm nodes could not be measured: {error}\n")
            return 1
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
