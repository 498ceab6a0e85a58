#!/bin/bash
# What the HyperPod image does by itself in the styles OnInitComplete and image-only (FACTS 5.6), played on a node of
# the bed. It may run beside the lifecycle script, and again after a reboot.
#   image_setup.sh NODE_TYPE CONTROLLER_NAME CONTROLLER_ADDRESS ACCOUNTING(yes|no) CLUSTER_NAME [KIND SOURCE PATH]...
set -euo pipefail

node_type=$1 controller_name=$2 controller_address=$3 accounting=$4 cluster_name=$5
shift 5
etc=/opt/slurm/etc

wait_until() { # SECONDS WHAT COMMAND...
    local seconds=$1 what=$2 deadline
    shift 2
    deadline=$((SECONDS + seconds))
    until "$@" >/dev/null 2>&1; do
        if ((SECONDS >= deadline)); then
            echo "image: $what is not up after $seconds s" >&2
            return 1
        fi
        sleep 0.1
    done
}

mount_file_system() { # KIND SOURCE PATH
    mkdir -p "$3"
    mountpoint -q "$3" || mount -t "$1" "$2" "$3"
}

write_database_configuration() {
    local password
    if [[ ! -e $etc/slurmdbd.conf ]]; then
        password=$(head -c 18 /dev/urandom | base64 | tr -d '+/=')
        install -o slurm -g slurm -m 600 /dev/null $etc/slurmdbd.conf
        cat >$etc/slurmdbd.conf <<CONF
AuthType=auth/munge
DbdHost=$controller_name
SlurmUser=slurm
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass=$password
StorageLoc=slurm_acct_db
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/run/slurmdbd/slurmdbd.pid
CONF
        mysql <<SQL
CREATE DATABASE IF NOT EXISTS slurm_acct_db;
CREATE OR REPLACE USER slurm@localhost IDENTIFIED BY '$password';
GRANT ALL ON slurm_acct_db.* TO slurm@localhost;
SQL
    fi
    cat >$etc/accounting.conf <<CONF
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=$controller_name
JobAcctGatherType=jobacct_gather/linux
CONF
    grep -qi '^include accounting.conf' $etc/slurm.conf || echo 'Include accounting.conf' >>$etc/slurm.conf
}

start_accounting() {
    systemctl enable --now mariadb
    write_database_configuration
    systemctl enable --now slurmdbd
    wait_until 60 slurmdbd sacctmgr -n show cluster
    sacctmgr -n show cluster "$cluster_name" format=cluster%50 | grep -q . || sacctmgr -i add cluster "$cluster_name"
}

start_controller() {
    wait_until 60 slurm.conf test -s $etc/slurm.conf
    [[ $accounting == no ]] || start_accounting
    systemctl enable --now slurmctld
    wait_until 60 slurmctld sh -c 'scontrol ping | grep -q UP'
}

start_slurmd() {
    sed -i "s|\\\$SLURMD_OPTIONS|--conf-server $controller_address|" /etc/systemd/system/slurmd.service
    systemctl daemon-reload
    systemctl enable slurmd
    # It cannot start before the controller answers and knows this node; a login node may never be known.
    if [[ $node_type == Login ]]; then
        systemctl restart slurmd || echo "image: slurm.conf does not know this login node"
    else
        wait_until 120 slurmd restart_slurmd
    fi
}

restart_slurmd() {
    systemctl reset-failed slurmd # or systemd refuses after five starts
    systemctl restart slurmd
}

while (($# >= 3)); do
    mount_file_system "$1" "$2" "$3"
    shift 3
done
systemctl enable --now munge
if [[ $node_type == Controller ]]; then start_controller; else start_slurmd; fi
