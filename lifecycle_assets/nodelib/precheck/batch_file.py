"""A batch file against what HyperPod's Slurm does with its options (FACTS 6). Pure but for the questions to Slurm."""

import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nodelib.precheck.machine import Machine
from nodelib.precheck.runtime_checks import SLURM_FOLDERS

WRONG, DOUBTFUL = "wrong", "doubtful"
_SHORT = {"-p": "--partition", "-N": "--nodes", "-o": "--output", "-e": "--error", "-w": "--nodelist", "-G": "--gpus"}
_FLAGS = ("--exclusive", "--requeue", "--no-requeue", "--overcommit", "--contiguous", "--hold", "--spread-job")
_PLATFORM_PARTITION, _PLATFORM_RESERVATION = "hyperpod-system-maintenance", "hyperpod-deep-health-check"
_OWN_DISKS = ("/tmp/", "/var/", "/opt/", "/root/", "/dev/shm/")  # noqa: S108 - looked at, not used


@dataclass(frozen=True)
class Remark:
    """Something about a line of the file; line 0 for the file as a whole."""

    level: str
    line: int
    text: str


@dataclass(frozen=True)
class Surroundings:
    """What the cluster has; empty where Slurm was not asked.

    Attributes:
        partitions: nodes of each.
        gpus: most GPUs of one node, by partition.
        has_pyxis: whether containers can be asked for; None if not known.
    """

    partitions: Mapping[str, int] = field(default_factory=dict)
    gpus: Mapping[str, int] = field(default_factory=dict)
    has_pyxis: "bool | None" = None


def main(machine: Machine, path: Path) -> int:
    """Print what is wrong or doubtful; 1 if something is wrong, 2 if the file cannot be read."""
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        sys.stdout.write(f"{path}: cannot be read: {error.strerror}\n")
        return 2
    except UnicodeDecodeError:
        sys.stdout.write(f"{path}: is no text\n")
        return 2
    remarks = sorted(remarks_on(text, surroundings(machine)), key=lambda one: one.line)
    for remark in remarks:
        where = f"{path}:{remark.line}" if remark.line else str(path)
        sys.stdout.write(f"{where}: {remark.level}: {remark.text}\n")
    wrong = sum(remark.level == WRONG for remark in remarks)
    summary = f"{wrong} wrong, {len(remarks) - wrong} doubtful" if remarks else "nothing to say"
    sys.stdout.write(f"{path}: {summary}\n")
    return 1 if wrong else 0


def remarks_on(text: str, around: Surroundings) -> Iterator[Remark]:
    """Everything to be said of a batch file."""
    yield from _form(text)
    options = options_of(text)
    yield from _partition(options, around)
    yield from _sizes(options, around)
    yield from _places(options)
    yield from _auto_resume(text, options)
    yield from _containers(text, options, around)


def _form(text: str) -> Iterator[Remark]:
    lines = text.splitlines()
    if not text.startswith("#!"):
        yield Remark(WRONG, 1, "sbatch refuses a file whose first line is not #! and an interpreter")
    if "\r\n" in text:
        yield Remark(WRONG, 1, "has Windows line ends, which sbatch refuses: run dos2unix on it")
    begun = False
    for number, line in enumerate(lines, 1):
        if line.startswith("#SBATCH") and begun:
            yield Remark(WRONG, number, "stands after the first command, so sbatch passes it over: move it up")
        begun = begun or bool(line.strip() and not line.startswith("#"))


def options_of(text: str) -> "dict[str, tuple[str, int]]":
    """The options that sbatch takes from the file, long names, each with its line; the last one counts."""
    found: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            break
        if line.startswith("#SBATCH"):
            for name, value in _pairs(_words(line[len("#SBATCH") :])):
                found[name] = (value, number)
    return found


def _words(text: str) -> "list[str]":
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def _pairs(words: Sequence[str]) -> Iterator["tuple[str, str]"]:
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, sign, value = word.partition("=")
        if not word.startswith("--") and len(word) > 2 and word[:2] in _SHORT:
            name, sign, value = word[:2], "=", word[2:].lstrip("=")
        if not sign and name not in _FLAGS and rest and not rest[0].startswith("-"):
            value = rest.pop(0)
        yield _SHORT.get(name, name), value


def _partition(options: "Mapping[str, tuple[str, int]]", around: Surroundings) -> Iterator[Remark]:
    name, line = options.get("--partition", ("", 0))
    if not name:
        yield Remark(DOUBTFUL, 0, "names no partition: the default one, dev, holds every node, login nodes too")
    for part in filter(None, name.split(",")):
        if part == _PLATFORM_PARTITION:
            yield Remark(WRONG, line, f"partition {part} is the platform's own, for health checks")
        elif part == "dev":
            yield Remark(DOUBTFUL, line, "partition dev holds every node, login nodes and unlike types too")
        elif around.partitions and part not in around.partitions:
            known = ", ".join(sorted(around.partitions))
            yield Remark(WRONG, line, f"there is no partition {part}; there are: {known}")
    reservation, line = options.get("--reservation", ("", 0))
    if reservation == _PLATFORM_RESERVATION:
        yield Remark(WRONG, line, f"reservation {reservation} is the platform's own")


def _sizes(options: "Mapping[str, tuple[str, int]]", around: Surroundings) -> Iterator[Remark]:
    partition = options.get("--partition", ("", 0))[0]
    nodes, line = options.get("--nodes", ("", 0))
    least = re.match(r"\d+", nodes)
    there = around.partitions.get(partition)
    if least and there is not None and int(least[0]) > there:
        yield Remark(WRONG, line, f"wants {least[0]} nodes, partition {partition} has {there}")
    for option in ("--gres", "--gpus-per-node"):
        value, line = options.get(option, ("", 0))
        count = re.search(r"(\d+)$", value) if "gpu" in value or option != "--gres" else None
        most = around.gpus.get(partition)
        if count and most is not None and int(count[1]) > most:
            yield Remark(WRONG, line, f"wants {count[1]} GPUs of a node, nodes of {partition} have {most}")


def _places(options: "Mapping[str, tuple[str, int]]") -> Iterator[Remark]:
    for option in ("--output", "--error", "--chdir"):
        value, line = options.get(option, ("", 0))
        if f"{value}/".startswith(_OWN_DISKS):
            yield Remark(DOUBTFUL, line, f"{value} is on the node's own disk: it is lost with the node")


def _auto_resume(text: str, options: "Mapping[str, tuple[str, int]]") -> Iterator[Remark]:
    if "--auto-resume" in options:
        line = options["--auto-resume"][1]
        yield Remark(
            WRONG, line, "--auto-resume is an option of srun, sbatch does not know it: put it on the srun line"
        )
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _asks_to_resume(line)]
    if not lines:
        return
    at = lines[0]
    if "--exclusive" not in options:
        yield Remark(WRONG, at, "--auto-resume needs nodes of its own: add #SBATCH --exclusive")
    if options.get("--open-mode", ("", 0))[0] != "append":
        yield Remark(DOUBTFUL, at, "a resumed job starts its log anew: add #SBATCH --open-mode=append")
    resources = next(
        (name for name in ("--gres", "--gpus", "--gpus-per-node", "--gpus-per-task") if name in options), ""
    )
    if resources:
        more = "; --no-requeue forbids even that" if "--no-requeue" in options else ""
        yield Remark(DOUBTFUL, options[resources][1], f"with {resources} a job is requeued instead of resumed{more}")
    for number, command in enumerate(text.splitlines(), 1):
        if re.search(r"\$\{?SLURM_(JOB_)?NODELIST", command):
            yield Remark(DOUBTFUL, number, "after a resume $SLURM_JOB_NODELIST is the old list: ask scontrol or squeue")


def _asks_to_resume(line: str) -> bool:
    return re.search(r"\bsrun\b.*--auto-resume[= ]1", line) is not None and not line.lstrip().startswith("#")


def _containers(text: str, options: "Mapping[str, tuple[str, int]]", around: Surroundings) -> Iterator[Remark]:
    lines = [number for number, line in enumerate(text.splitlines(), 1) if re.search(r"--container-(image|name)", line)]
    if lines and around.has_pyxis is False:
        yield Remark(WRONG, lines[0], "asks for a container, but Pyxis is not in Slurm's plugstack.conf here")


def surroundings(machine: Machine) -> Surroundings:
    """What the cluster has, as far as Slurm answers here."""
    shown = machine.run("sinfo", "--noheader", "--format=%R|%D|%G")
    if shown.code != 0:
        return Surroundings()
    partitions: dict[str, int] = {}
    gpus: dict[str, int] = {}
    for line in shown.text.splitlines():
        name, count, resources = [*line.split("|"), "", ""][:3]
        partitions[name] = partitions.get(name, 0) + int(count or 0)
        of_node = sum(int(number) for number in re.findall(r"\bgpu(?::[A-Za-z][\w.-]*)?:(\d+)", resources))
        gpus[name] = max(gpus.get(name, 0), of_node)
    text = machine.first(*(f"{folder}/plugstack.conf" for folder in SLURM_FOLDERS))
    pyxis = any("spank_pyxis.so" in line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return Surroundings(partitions, gpus, pyxis)
