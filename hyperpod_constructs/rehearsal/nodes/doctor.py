"""Whether this machine can carry a bed: every point looked at, not only the first that fails."""

import os
import shutil
from pathlib import Path

from hyperpod_constructs.rehearsal.nodes import host, registry
from hyperpod_constructs.rehearsal.nodes.cgroup import create_bed_cgroup, remove
from hyperpod_constructs.rehearsal.nodes.errors import BedUnavailable
from hyperpod_constructs.rehearsal.nodes.host import Finding
from hyperpod_constructs.rehearsal.nodes.paths import nodes_cache_dir
from hyperpod_constructs.rehearsal.nodes.suites import SUITES
from hyperpod_constructs.rehearsal.nodes.tree import is_built


def examine(cache: Path | None = None) -> list[Finding]:
    """Look at everything a bed needs. Changes nothing.

    Args:
        cache: folder of the Debian trees; by default ``nodes`` in the rehearsal's folder.
    """
    cache = cache or nodes_cache_dir()
    built = [name for name, suite in SUITES.items() if is_built(suite, cache)]
    findings = [host.check_system(), host.check_root(), host.check_apt()]
    if not findings[0].problem:
        findings += [host.check_memory(), _check_packages(build=not built)]
    if not built:
        findings.append(host.check_space(cache))
    if not any(finding.problem for finding in findings[:2]):
        findings.append(_check_cgroups())
    findings.append(Finding(subject="trees", found=", ".join(built) or "none built yet"))
    findings.append(Finding(subject="beds running", found=str(len(registry.running_beds()))))
    return findings


def _check_packages(*, build: bool) -> Finding:
    missing = host.missing_packages(build=build)
    if not missing:
        return Finding(subject="packages", found="all there")
    text = ", ".join(missing)
    if host.apt_forbidden():
        return Finding(subject="packages", found=f"missing {text}", problem=f"install {text}; NO_APT forbids it here")
    if shutil.which("apt-get") is None:
        return Finding(subject="packages", found=f"missing {text}", problem=f"install {text}; there is no apt-get")
    return Finding(subject="packages", found=f"missing {text}: installed at the first run")


def _check_cgroups() -> Finding:
    try:
        group = create_bed_cgroup(f"doctor-{os.getpid()}")
    except BedUnavailable as error:
        return Finding(subject="cgroups", found="not writable", problem=str(error))
    remove(group)
    return Finding(subject="cgroups", found=f"writable at {group.parent}")
