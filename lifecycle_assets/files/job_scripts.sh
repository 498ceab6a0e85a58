#!/bin/bash
# Slurm's Prolog and Epilog: runs every *.sh in prolog.d or epilog.d, whichever this file is named after.
# A script that fails is reported in the system log and passed over, because a prolog's failure drains the node and an
# epilog's too; only NAME.required.sh may do that. Nothing is written: the disk may be full or read-only.
set -u
kind=${0##*/}
kind=${kind%.sh}
folder=${HYPERPOD_JOB_SCRIPTS:-/opt/slurm/etc}/$kind.d
result=0
for script in "$folder"/*.sh; do
    [[ -f $script ]] || continue
    timeout 60 bash "$script" </dev/null && continue
    code=$?
    logger --tag "slurm-$kind" "$script: exit code $code, job ${SLURM_JOB_ID:-unknown}" 2>/dev/null
    case $script in *.required.sh) result=$code ;; esac
done
exit "$result"
