#!/bin/bash
# A plain lifecycle script for the tests of the bed: mounts the shared file system and starts Slurm in ON_CREATE style.
# The product's own scripts are elsewhere; this one only has to show that the bed and the agent do their part.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
config=/opt/ml/config
etc=/opt/slurm/etc

echo "script: home=${HOME-unset} umask=$(umask) folder=$PWD terminal=$(test -t 1 && echo yes || echo no)"
role=$(python3 "$here/role.py" "$config")
controller=$(python3 "$here/role.py" "$config" controller)
echo "script: role=$role controller=$controller"

wait_until() { # SECONDS COMMAND...
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < deadline)) || return 1
        sleep 0.1
    done
}

source=$(python3 "$here/role.py" "$config" file_system)
if [[ -n $source ]] && ! mountpoint -q /fsx; then
    mkdir -p /fsx
    mount -t lustre -o noatime,flock "$source" /fsx
fi
systemctl enable --now munge 2>/dev/null

start_controller() {
    wait_until 60 grep -q '^SlurmctldHost' $etc/slurm.conf
    systemctl enable --now mariadb 2>/dev/null
    mysql -e "create database if not exists slurm_acct_db; create user if not exists slurm@localhost;
        grant all on slurm_acct_db.* to slurm@localhost"
    install -o slurm -g slurm -m 600 /dev/null $etc/slurmdbd.conf
    printf '%s\n' AuthType=auth/munge DbdHost="$(hostname)" SlurmUser=slurm StorageType=accounting_storage/mysql \
        StorageHost=localhost StorageUser=slurm StorageLoc=slurm_acct_db LogFile=/var/log/slurm/slurmdbd.log \
        >$etc/slurmdbd.conf
    grep -q '^ReturnToService' $etc/slurm.conf || printf '%s\n' ReturnToService=2 SlurmdTimeout=8 MessageTimeout=6 \
        AccountingStorageType=accounting_storage/slurmdbd AccountingStorageHost="$(hostname)" >>$etc/slurm.conf
    chmod 644 $etc/slurm.conf
    systemctl enable --now slurmdbd 2>/dev/null
    wait_until 30 sacctmgr -n show cluster
    sacctmgr -n show cluster | grep -q . ||
        sacctmgr -i add cluster "$(sed -n 's/^ClusterName=//p' $etc/slurm.conf)" >/dev/null
    systemctl enable --now slurmctld 2>/dev/null
    wait_until 30 sh -c 'scontrol ping | grep -q UP'
}

start_slurmd() {
    mkdir -p /etc/systemd/system/slurmd.service.d
    # slurm.conf may learn of this node only later: then slurmd is tried again until it does
    printf '%s\n' '[Unit]' StartLimitIntervalSec=0 '[Service]' Restart=on-failure RestartSec=1 \
        "Environment=SLURMD_OPTIONS=--conf-server=$controller" >/etc/systemd/system/slurmd.service.d/start.conf
    chmod -R a+rX /etc/systemd/system/slurmd.service.d
    systemctl daemon-reload
    systemctl enable --now --no-block slurmd 2>/dev/null
}

if [[ $role == controller ]]; then start_controller; else start_slurmd; fi
echo "script: done"
