"""Clusters whose instances are real Slurm nodes, deployed by the CDK CLI from this repository's app."""

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hyperpod_constructs.rehearsal.session import Deployment, Rehearsal

READY_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step of the user's own."""

    name: str
    text: str
    node_types: tuple[str, ...]


@dataclass
class SlurmCluster:
    """A cluster with the groups head, entry and train, as the app's file describes it."""

    rehearsal: Rehearsal
    folder: Path
    name: str
    style: str = "ON_CREATE"
    steps: tuple[Step, ...] = ()
    outputs: dict[str, str] = field(default_factory=dict)

    def config(self, workers: int) -> dict[str, Any]:
        steps = []
        for step in self.steps:
            script = self.folder / f"{step.name}.sh"
            script.write_text(f"#!/bin/bash\n{step.text}\n")
            steps.append({"source": str(script), "name": step.name, "node_types": list(step.node_types)})
        return {
            "cluster_name": self.name,
            "controller": {"name": "head", "instance_type": "ml.m5.xlarge"},
            "login": {"name": "entry", "instance_type": "ml.m5.xlarge"},
            "compute": [{"name": "train", "instance_type": "ml.g5.12xlarge", "instance_count": workers}],
            "lifecycle": {"style": self.style, "user_steps": steps},
        }

    def deploy_again(self, assembly: Path) -> Deployment:
        """Deploy what was synthesized before: a synthesis costs seconds."""
        return self.rehearsal.deploy(str(assembly))

    def kept_assembly(self) -> Path:
        """A copy of what was synthesized last."""
        return shutil.copytree(self.rehearsal.run_folder / "cdk.out", self.folder / "assembly")

    def deploy(self, workers: int) -> Deployment:
        file = self.folder / "cluster.json"
        file.write_text(json.dumps(self.config(workers)))
        deployment = self.rehearsal.deploy(context={"config": str(file)})
        self.outputs = dict(deployment.outputs["HyperPod"])
        return deployment
