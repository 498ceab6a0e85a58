"""Words and places that Slurm, the system, the platform or this library have taken. Standard library only."""

OWN_TAG_PREFIX = "hyperpod-constructs:"
"""Of the tags by which the custom resource knows its cluster and remembers what it did; never the user's."""

OWNED_SLURM_KEYS = frozenset(
    {
        *("clustername", "slurmctldhost", "nodename", "partitionname", "taskplugin", "schedulerparameters"),
        *("nodes", "nodeset", "downnodes", "include", "statesavelocation", "topologyplugin"),
    }
)
"""Keys of slurm.conf, in lower case, that the platform writes or that other arguments decide (FACTS 6.3, Q-08)."""
OWNED_SLURM_PREFIXES = ("accountingstorage",)

SYSTEM_PATHS = frozenset(
    f"/{name}"
    for name in (
        *("bin", "boot", "dev", "etc", "lib", "lib64", "proc", "root", "run", "sbin", "sys", "tmp", "usr", "var"),
        *("opt", "opt/slurm", "opt/ml", "opt/sagemaker", "opt/dlami", "opt/aws", "opt/amazon"),
    )
)
"""Folders that the operating system, Slurm or the platform lives in: a mount there would hide it (FACTS 5.7, 6.2)."""
DEEP_SYSTEM_PATHS = frozenset(
    {"/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/opt/ml", "/opt/slurm", "/proc", "/run", "/sbin", "/sys"}
)
"""Those of them under which nothing of a user's may be mounted either."""

SHARED_PARTITION = "dev"  # exists on every cluster and holds every node (FACTS 6.3)
RESERVED_PARTITIONS = {"DEFAULT": "slurm.conf's word for the defaults of the partitions that follow"}
"""Names that make no partition, with the reason. Tried with slurmctld 24.11.5 and 26.05.5, which also take ALL, NONE,
ANY, UNLIMITED, numbers and a thousand characters; with DEFAULT in any case of letters the partition is not there."""

RESERVED_USERS = frozenset(
    {
        *("root", "daemon", "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp", "proxy"),
        *("www-data", "backup", "list", "irc", "gnats", "nobody", "messagebus", "syslog", "sshd", "tss"),
        *("uuidd", "tcpdump", "landscape", "pollinate", "lxd", "usbmux", "_apt", "_chrony", "polkitd"),
        *("systemd-network", "systemd-resolve", "systemd-timesync", "fwupd-refresh", "ubuntu", "ec2-user"),
        *("ssm-user", "slurm", "munge", "mysql", "adm", "sudo", "admin", "wheel", "docker", "video"),
        *("render", "audio", "users", "staff", "shadow", "disk", "tape", "dialout", "plugdev", "netdev"),
        *("kmem", "tty"),
    }
)
"""Users of the image, and groups whose name a user's own group would clash with (field report L-20)."""
