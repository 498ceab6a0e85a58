"""The stand-ins for FSx answer mount, findmnt and the Lustre tools as scripts expect."""

from collections.abc import Callable

import pytest

from hyperpod_constructs.rehearsal.nodes import Bed, BedError

from .conftest import Place

pytestmark = pytest.mark.nodes

SERVER = "fs-0a1b2c3d4e5f60718.fsx.us-west-2.amazonaws.com"
LUSTRE = f"{SERVER}@tcp:/abcdefgh"
OPEN_ZFS = "fs-0b1b2c3d4e5f60718.fsx.us-west-2.amazonaws.com:/fsx"


@pytest.fixture
def stores(bed: Bed) -> None:
    bed.add_file_system(LUSTRE)
    bed.add_file_system(OPEN_ZFS, kind="nfs")


@pytest.fixture
def mounted(bed: Bed, node: str, stores: None) -> str:
    bed.run(node, ["mount", "-t", "lustre", "-o", "noatime,flock", LUSTRE, "/fsx"], check=True)
    return node


def test_a_file_written_by_one_node_is_read_by_another(bed: Bed, mounted: str, place: Callable[[], Place]) -> None:
    other = place()
    bed.add(other.name, other.address)
    bed.run(other.name, ["mount", "-t", "lustre", LUSTRE, "/fsx"], check=True)
    bed.run(mounted, ["bash", "-c", f"echo hello >/fsx/{mounted}"], check=True)
    assert bed.get(other.name, f"/fsx/{mounted}") == b"hello\n"
    bed.remove(other.name)


def test_findmnt_shows_source_type_and_options(bed: Bed, mounted: str) -> None:
    shown = bed.run(mounted, ["findmnt", "-n", "-t", "lustre", "-o", "TARGET,SOURCE,FSTYPE"], check=True).stdout
    assert shown.split() == ["/fsx", LUSTRE, "lustre"]
    assert "noatime" in bed.run(mounted, ["findmnt", "-n", "-o", "OPTIONS", "/fsx"], check=True).stdout
    assert bed.run(mounted, ["findmnt", "-n", "-t", "lustre", "/home"]).exit_code == 1


def test_the_mount_table_holds_the_source_that_was_mounted(bed: Bed, mounted: str) -> None:
    lines = bed.get(mounted, "/proc/self/mountinfo").decode().splitlines()
    assert [line.split(" - ")[1].split()[1] for line in lines if " /fsx " in line] == [LUSTRE]
    assert bed.run(mounted, ["mountpoint", "-q", "/fsx"]).exit_code == 0


def test_open_zfs_is_mounted_as_home_with_its_owner_rights(bed: Bed, node: str, stores: None) -> None:
    command = f"mount -t nfs -o nconnect=16,noatime {OPEN_ZFS} /home && mkdir /home/u && chown slurm /home/u"
    bed.run(node, ["bash", "-c", command], check=True)
    assert bed.run(node, ["findmnt", "-n", "-o", "FSTYPE,SOURCE", "/home"]).stdout.split() == ["nfs4", OPEN_ZFS]
    assert bed.run(node, ["stat", "-c", "%U", "/home/u"]).stdout == "slurm\n"


def test_an_entry_in_fstab_mounts_at_the_next_boot(bed: Bed, node: str, stores: None) -> None:
    bed.put(node, {"/etc/fstab": f"{LUSTRE} /fsx lustre noatime,flock,_netdev 0 0\n".encode()})
    bed.reboot(node)
    assert bed.run(node, ["findmnt", "-n", "-o", "FSTYPE", "/fsx"]).stdout.strip() == "lustre"


def test_a_folder_below_the_root_can_be_mounted_alone(bed: Bed, mounted: str) -> None:
    bed.run(mounted, ["bash", "-c", "mkdir -p /fsx/below && touch /fsx/below/one"], check=True)
    bed.run(mounted, ["mount", "-t", "lustre", f"{LUSTRE}/below", "/mnt"], check=True)
    assert bed.run(mounted, ["ls", "/mnt"]).stdout == "one\n"


def test_a_read_only_mount_refuses_to_write(bed: Bed, node: str, stores: None) -> None:
    bed.run(node, ["mount", "-t", "lustre", "-o", "ro", LUSTRE, "/fsx"], check=True)
    assert bed.run(node, ["touch", "/fsx/x"]).exit_code != 0


def test_an_unknown_file_system_is_refused_with_the_real_helpers_words(bed: Bed, node: str, stores: None) -> None:
    result = bed.run(node, ["mount", "-t", "lustre", f"{SERVER}@tcp:/wrong", "/fsx"])
    assert result.exit_code != 0
    assert f"mount.lustre: mount {SERVER}@tcp:/wrong at /fsx failed: No such file or directory" in result.stderr


def test_an_unreachable_file_system_cannot_be_mounted_until_it_is_back(bed: Bed, node: str, stores: None) -> None:
    bed.set_file_system_reachable(LUSTRE, reachable=False)
    result = bed.run(node, ["mount", "-t", "lustre", LUSTRE, "/fsx"])
    bed.set_file_system_reachable(LUSTRE, reachable=True)
    assert result.exit_code != 0
    assert "Input/output error" in result.stderr
    assert bed.run(node, ["mount", "-t", "lustre", LUSTRE, "/fsx"]).exit_code == 0


def test_a_full_file_system_says_so(bed: Bed, node: str) -> None:
    source = "fs-0f1b2c3d4e5f60718.fsx.us-west-2.amazonaws.com@tcp:/small"
    bed.add_file_system(source, size_mib=1)
    bed.run(node, ["mount", "-t", "lustre", source, "/fsx"], check=True)
    result = bed.run(node, ["dd", "if=/dev/zero", "of=/fsx/big", "bs=1M", "count=3"])
    assert "No space left on device" in result.stderr


def test_the_servers_name_resolves(bed: Bed, node: str, stores: None) -> None:
    assert bed.run(node, ["getent", "hosts", SERVER]).exit_code == 0


def test_the_lustre_tools_answer_and_refuse_what_they_do_not_know(bed: Bed, node: str) -> None:
    assert bed.run(node, ["modprobe", "lustre"]).exit_code == 0
    assert bed.run(node, ["lctl", "set_param", "osc.*.max_dirty_mb=64"]).stdout == "osc.*.max_dirty_mb=64\n"
    assert bed.run(node, ["lnetctl", "lnet", "configure"]).exit_code == 0
    unknown = bed.run(node, ["lfs", "hsm_restore", "/fsx/x"])
    assert (unknown.exit_code, "stand-in" in unknown.stderr) == (1, True)


@pytest.mark.parametrize(
    ("source", "kind", "text"),
    [
        ("fs-1@tcp:/x", "ext4", 'got kind "ext4"; allowed: lustre, nfs'),
        ("fs-1:/x", "lustre", "mounted as <dns name>@tcp:/<mount name>"),
        ("fs-1@tcp:/toolongname", "lustre", "mounted as <dns name>@tcp:/<mount name>"),
        ("fs-1", "nfs", "mounted as <dns name>:/<volume>"),
    ],
)
def test_a_source_that_no_node_could_mount_is_refused(bed: Bed, source: str, kind: str, text: str) -> None:
    with pytest.raises(BedError) as caught:
        bed.add_file_system(source, kind=kind)
    assert text in str(caught.value)
