"""Texts of the files that make a Debian tree look like the HyperPod image, as far as node scripts can see.

The Slurm units stand in /etc/systemd/system as on the image, where scripts rewrite and rename them; slurmd takes its
controller from SLURMD_OPTIONS and deletes a local slurm.conf at each start (FACTS 6.2: why it must never run on the
controller).
"""

SLURMD_UNIT = """\
[Unit]
Description=Slurm node daemon
After=munge.service network-online.target remote-fs.target
Wants=network-online.target

[Service]
Type=notify
EnvironmentFile=-/etc/default/slurmd
RuntimeDirectory=slurm
RuntimeDirectoryMode=0755
ExecStartPre=/bin/rm -f /opt/slurm/etc/slurm.conf
ExecStart=/opt/slurm/sbin/slurmd --systemd $SLURMD_OPTIONS
ExecReload=/bin/kill -HUP $MAINPID
KillMode=process
LimitNOFILE=131072
LimitMEMLOCK=infinity
LimitSTACK=infinity
Delegate=yes
TasksMax=infinity

[Install]
WantedBy=multi-user.target
"""

SLURMCTLD_UNIT = """\
[Unit]
Description=Slurm controller daemon
After=munge.service network-online.target remote-fs.target
Wants=network-online.target
ConditionPathExists=/opt/slurm/etc/slurm.conf

[Service]
Type=notify
EnvironmentFile=-/etc/default/slurmctld
User=slurm
Group=slurm
RuntimeDirectory=slurmctld
RuntimeDirectoryMode=0755
ExecStart=/opt/slurm/sbin/slurmctld --systemd $SLURMCTLD_OPTIONS
ExecReload=/bin/kill -HUP $MAINPID
LimitNOFILE=65536
TasksMax=infinity

[Install]
WantedBy=multi-user.target
"""

SLURMDBD_UNIT = """\
[Unit]
Description=Slurm accounting daemon
After=munge.service network-online.target remote-fs.target mariadb.service
Wants=network-online.target
ConditionPathExists=/opt/slurm/etc/slurmdbd.conf

[Service]
Type=simple
EnvironmentFile=-/etc/default/slurmdbd
User=slurm
Group=slurm
RuntimeDirectory=slurmdbd
RuntimeDirectoryMode=0755
ExecStart=/opt/slurm/sbin/slurmdbd -D -s $SLURMDBD_OPTIONS
ExecReload=/bin/kill -HUP $MAINPID
LimitNOFILE=65536
TasksMax=infinity

[Install]
WantedBy=multi-user.target
"""

# net.* belongs to the node's own network namespace and may be written; vm.* and kernel.* are the host's and may not.
SYSCTL_UNIT = """\
[Unit]
Description=Rehearsal: let this node set its own network's parameters
DefaultDependencies=no
Before=sysinit.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'mkdir -p /run/own-proc && mount -t proc proc /run/own-proc \
&& mount --bind /run/own-proc/sys/net /proc/sys/net && umount -l /run/own-proc'
"""

# One key of its own a node, in 10 ms; Debian's unit would make an RSA key as well, in 300.
SSH_DROP_IN = """\
[Service]
ExecStartPre=
ExecStartPre=/bin/sh -c 'test -e /etc/ssh/ssh_host_ed25519_key || \
ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key'
ExecStartPre=/usr/sbin/sshd -t
"""

FILES = {
    "etc/systemd/system/slurmd.service": SLURMD_UNIT,
    "etc/systemd/system/slurmctld.service": SLURMCTLD_UNIT,
    "etc/systemd/system/slurmdbd.service": SLURMDBD_UNIT,
    "etc/systemd/system/rehearsal-sysctl.service": SYSCTL_UNIT,
    "etc/systemd/system/ssh.service.d/rehearsal.conf": SSH_DROP_IN,
    "etc/systemd/journald.conf.d/rehearsal.conf": "[Journal]\nStorage=volatile\nRuntimeMaxUse=16M\n",
    "etc/systemd/system.conf.d/rehearsal.conf": "[Manager]\nDefaultTimeoutStopSec=10s\nDefaultTimeoutStartSec=60s\n",
    # The least that slurmdbd is content with: several beds run beside each other.
    "etc/mysql/conf.d/rehearsal.cnf": (
        "[mysqld]\ninnodb_buffer_pool_size=32M\ninnodb_log_file_size=16M\n"
        "innodb_lock_wait_timeout=900\nperformance_schema=OFF\n"
    ),
    "etc/sudoers.d/90-ubuntu": "ubuntu ALL=(ALL) NOPASSWD:ALL\n",
    "etc/hosts": "127.0.0.1 localhost\n",
    # Not Debian's, whose Include its own Slurm refuses.
    "opt/slurm/etc/plugstack.conf": "# SPANK plugins\n",
    # The controllers of cgroup v2 are not to be had everywhere a bed runs.
    "opt/slurm/etc/cgroup.conf": "CgroupPlugin=disabled\n",
    "etc/rehearsal-image": "A Debian tree with stand-ins for the HyperPod image.\n",
}

# Not wanted, or of no use without hardware or network.
MASKED_UNITS = (
    *("console-getty.service", "getty.target", "getty-static.service", "systemd-udevd.service"),
    *("systemd-udev-trigger.service", "systemd-timesyncd.service", "systemd-networkd.service"),
    *("systemd-resolved.service", "systemd-pcrphase.service", "systemd-pstore.service", "apt-daily.timer"),
    *("apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "e2scrub_reap.service", "fstrim.timer"),
    "sshd-keygen.service",
)

# Installed on the image but not running: the platform or the node scripts start them.
NOT_ENABLED_UNITS = ("mariadb", "munge", "slurmctld", "slurmd", "slurmdbd")
