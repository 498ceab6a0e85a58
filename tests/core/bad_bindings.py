"""Wrong storage, networks and deploy-time values: what is wrong, where the message points, what it must say."""

from hyperpod_constructs.bindings import AccountingBindings, Bindings, LustreMount, OpenZfsMount
from hyperpod_constructs.options import (
    EbsVolume,
    Mount,
)
from hyperpod_constructs.rules import Surroundings
from tests.core.bad import Bad, bound, cluster_network, external, mounted
from tests.core.full_specs import hundred_full_groups
from tests.core.support import (
    LUSTRE,
    OPEN_ZFS,
    SECRET,
    a_cluster,
    a_compute_group,
    with_compute,
)

_FAR = Surroundings(availability_zone="us-east-1a", file_system_zones=(("/fsx", "us-east-1b"),))
_P5_PAIR = [
    a_compute_group(name="a", availability_zone="us-east-1a"),
    a_compute_group(name="b", availability_zone="us-east-1b"),
]


BAD_BINDINGS: tuple[Bad, ...] = (
    # Storage.
    Bad(
        rule="ebs-volume-size",
        spec=with_compute(ebs_volume=EbsVolume(size_gib=0)),
        path="compute[0].ebs_volume.size_gib",
        says="got 0, allowed: 1 to 16384 GiB",
    ),
    Bad(rule="mount-path", **mounted("fsx"), path="file_systems[0]", says="an absolute path"),
    Bad(rule="mount-path", **mounted("/data/../home"), path="file_systems[0]", says="without . or .."),
    Bad(rule="mount-path", **mounted("/my data"), path="file_systems[0]", says='got "/my data"'),
    Bad(rule="mount-path", **mounted("${Token[Path.1]}"), path="file_systems[0]", says="known at synth time"),
    Bad(rule="mount-path", **mounted(5), path="file_systems[0]", says="got 5 as its path"),
    Bad(
        rule="mount-path",
        spec=with_compute(file_systems=[Mount(file_system=object(), path="scratch")]),
        path="compute[0].file_systems[0]",
        says='got "scratch"',
    ),
    Bad(rule="mount-path-system", **mounted("/opt/slurm"), path="file_systems[0]", says="the node needs itself"),
    Bad(rule="mount-path-system", **mounted("/usr/"), path="file_systems[0]", says="the node needs itself"),
    Bad(rule="mount-path-system", **mounted("/etc/data"), path="file_systems[0]", says="inside /etc"),
    Bad(
        rule="mount-path-unique",
        **bound(mounts=(LUSTRE, OpenZfsMount(dns_name=OPEN_ZFS.dns_name, path="/fsx/"))),
        path="file_systems[1]",
        says="the path of file_systems[0] too",
    ),
    Bad(
        rule="mount-path-nested",
        **bound(mounts=(LUSTRE, OpenZfsMount(dns_name=OPEN_ZFS.dns_name, path="/fsx/home"))),
        path="file_systems[1]",
        says="choose a path outside",
    ),
    Bad(
        rule="file-systems-of-a-kind",
        **bound(mounts=(LUSTRE, LustreMount(dns_name=LUSTRE.dns_name, mount_name="a", path="/two"))),
        path="file_systems",
        says="got 2 Lustre file systems",
    ),
    # The network.
    Bad(
        rule="availability-zone",
        spec=with_compute(availability_zone="us-east-1"),
        path="compute[0].availability_zone",
        says="us-east-1a or use1-az4",
    ),
    Bad(
        rule="override-vpc-limits",
        spec=with_compute(subnets=[object() for _ in range(17)]),
        path="compute[0].subnets",
        says="got 17 subnets, allowed: 16",
    ),
    Bad(
        rule="override-vpc-limits",
        spec=a_cluster(),
        bindings=cluster_network(security_groups=[f"sg-{n}" for n in range(6)]),
        path="network.security_groups",
        says="got 6 security groups, allowed: 5",
    ),
    Bad(
        rule="file-system-zone-efa",
        **bound(mounts=(LustreMount(dns_name=LUSTRE.dns_name, mount_name="a", efa=True),)),
        around=_FAR,
        path="compute[0]",
        says="EFA cannot cross zones",
    ),
    Bad(rule="file-system-zone", **bound(), around=_FAR, path="compute[0]", says="put both into one zone"),
    Bad(
        rule="partition-zones",
        spec=a_cluster(compute=_P5_PAIR),
        path="compute[1].availability_zone",
        says="a partition of its own",
    ),
    Bad(
        rule="subnet-addresses",
        spec=a_cluster(),
        around=Surroundings(subnet_address_count=251, reserved_address_count=4),
        path="network",
        says="need 518 addresses (controller-group 1 x 1 + login-group 1 x 1 + worker-gpu-a 16 x 32 + 4 for file",
    ),
    # Literals among the deploy-time values.
    Bad(rule="role-and-key", **bound(execution_role_arn="my-role"), path="controller.execution_role", says="my-role"),
    Bad(rule="role-and-key", **bound(volume_kms_key_id="a key"), path="login.volume_kms_key", says='got "a key"'),
    Bad(
        rule="subnet-and-security-group-ids",
        spec=a_cluster(),
        bindings=cluster_network(subnets=["subnet_1"]),
        path="network.subnets",
        says="the id of a subnet",
    ),
    Bad(
        rule="file-system-address",
        **bound(mounts=(LustreMount(dns_name="10.0.0.5", mount_name="fsx"),)),
        path="compute[0].file_systems",
        says='got "10.0.0.5"',
    ),
    Bad(
        rule="file-system-address",
        **bound(mounts=(LustreMount(dns_name=LUSTRE.dns_name, mount_name="mountname"),)),
        path="compute[0].file_systems",
        says="1 to 8 characters",
    ),
    Bad(rule="scripts-address", **bound(source_s3_uri="/scripts"), path="controller.lifecycle", says="s3://<bucket>"),
    Bad(
        rule="database-address",
        spec=external(),
        bindings=Bindings(
            subnet_ids=("subnet-1",),
            security_group_ids=("sg-1",),
            accounting=AccountingBindings(endpoint="db:3306", secret_arn=SECRET),
        ),
        path="accounting.endpoint",
        says='got "db:3306"',
    ),
    # What a deployment can carry.
    Bad(
        rule="payload-size",
        spec=hundred_full_groups()[0],
        bindings=hundred_full_groups()[1],
        path="compute",
        says="make two clusters",
    ),
)
