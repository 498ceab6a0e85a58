"""The cluster agent on the controller: keeps the platform's part of slurm.conf and gres.conf (FACTS 6.3)."""

from collections.abc import Sequence

from hyperpod_constructs.rehearsal.agent import slurm_files
from hyperpod_constructs.rehearsal.agent.cluster import ClusterFiles, Instance, NodeType
from hyperpod_constructs.rehearsal.nodes.client import BedClient
from hyperpod_constructs.rehearsal.nodes.errors import NodeError

# A running slurmctld reads its files again; one that is busy is asked again, as Slurm's own tools do not.
_RECONFIGURE = """
systemctl is-active --quiet slurmctld || exit 0
for try in 1 2 3 4 5; do
    timeout 20 scontrol reconfigure && exit 0
    sleep 1
done
exit 1
"""


def is_running(bed: BedClient, instance: Instance) -> bool:
    """Whether that instance is a running node of the bed."""
    return any(node["name"] == instance.host_name and node["running"] for node in bed.nodes())


class ControllerFiles:
    """Writes the platform's lines on the controller and watches that nobody else changes them.

    Args:
        bed: where the controller is.
        login_is_a_node: see slurm_files.owned_lines.

    Not safe to use from several threads.
    """

    def __init__(self, bed: BedClient, *, login_is_a_node: bool) -> None:
        self._bed = bed
        self._login_is_a_node = login_is_a_node
        self._released: set[str] = set()
        self._written: tuple[str, ...] = ()
        self._written_gres: tuple[str, ...] = ()
        self.edits: list[str] = []

    def release(self, instance: Instance) -> None:
        """From now on slurm.conf may know of that node; of the controller: slurm.conf may be written."""
        self._released.add(instance.host_name)

    def forget(self, instance: Instance) -> None:
        """That node is gone or about to be made anew."""
        self._released.discard(instance.host_name)
        if instance.node_type is NodeType.CONTROLLER:
            self._written = self._written_gres = ()

    def reconcile(self, files: ClusterFiles) -> None:
        """Merge the platform's lines into the files, and let slurmctld read them when they changed."""
        controller = files.controller
        if controller is None or controller.host_name not in self._released or not is_running(self._bed, controller):
            return
        self.note_edits(controller)
        known = [one for one in files.instances if not one.real or one.host_name in self._released]
        wanted = slurm_files.owned_lines(files.name, controller, known, login_is_a_node=self._login_is_a_node)
        gres = slurm_files.gres_lines(known)
        changed = self._merge(controller.host_name, wanted, gres)
        self._written, self._written_gres = tuple(wanted), tuple(gres)
        if changed:
            self._bed.run(controller.host_name, ["bash", "-c", _RECONFIGURE], timeout_seconds=150)

    def _merge(self, host: str, wanted: Sequence[str], gres: Sequence[str]) -> bool:
        before = self._read(host, slurm_files.SLURM_CONF)
        before_gres = self._read(host, slurm_files.GRES_CONF) or ""
        after = slurm_files.merged(before or slurm_files.IMAGE_SLURM_CONF, wanted, self._written)
        after_gres = slurm_files.merged_gres(before_gres, gres, self._written_gres)
        changes = {slurm_files.SLURM_CONF: after} if after != before else {}
        if after_gres != before_gres:
            changes[slurm_files.GRES_CONF] = after_gres
        if changes:
            self._bed.put(host, {path: text.encode() for path, text in changes.items()})
        return bool(changes)

    def _read(self, host: str, path: str) -> str | None:
        try:
            return self._bed.get(host, path).decode()
        except NodeError:
            return None

    def note_edits(self, controller: Instance) -> list[str]:
        """What others did to the platform's keys since the last merge, in words."""
        if not self._written or not is_running(self._bed, controller):
            return []
        host = controller.host_name
        text = self._read(host, slurm_files.SLURM_CONF)
        if text is None:
            found = ["slurm.conf was removed"]
        else:
            full = slurm_files.with_includes(text, lambda name: self._read(host, _in_etc(name)))
            found = slurm_files.edits_of_others(full, self._written)
        self.edits += [edit for edit in found if edit not in self.edits]
        return found


def _in_etc(name: str) -> str:
    return name if name.startswith("/") else f"/opt/slurm/etc/{name}"
