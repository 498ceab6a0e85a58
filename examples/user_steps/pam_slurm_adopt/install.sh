#!/bin/bash
# People reach this node by SSH only while a job of theirs runs on it; their sessions then count as part of that job.
#   install.sh [GROUP WHOSE MEMBERS MAY ALWAYS COME IN]
# Needs PrologFlags=Contain in slurm.conf, and cgroups for processes (ProctrackType=proctrack/cgroup).
set -euo pipefail
free_group=${1:-sudo}
sshd=/etc/pam.d/sshd

module=$(find /usr/lib /lib /opt/slurm/lib -name pam_slurm_adopt.so -print -quit 2>/dev/null)
if [[ -z $module ]]; then
    echo "pam_slurm_adopt.so is not on this image" >&2
    exit 1
fi

# pam_systemd would move the session out of the job's control group, so sshd gets its session rules without it.
session=/etc/pam.d/common-session-without-systemd
grep -v pam_systemd /etc/pam.d/common-session | install -D -m 644 /dev/stdin "$session.new"
if cmp -s "$session.new" "$session"; then rm "$session.new"; else mv "$session.new" "$session"; fi

# Last of the account rules: who may not come in at all is refused before.
wanted=$(
    sed -e '/# pam_slurm_adopt example$/d' -e 's/^@include common-session$/@include common-session-without-systemd/' "$sshd"
    echo "account sufficient pam_succeed_if.so quiet user ingroup $free_group # pam_slurm_adopt example"
    echo "account sufficient pam_succeed_if.so quiet uid = 0 # pam_slurm_adopt example"
    echo "account required $module action_no_jobs=deny # pam_slurm_adopt example"
)
if [[ $wanted != "$(cat "$sshd")" ]]; then
    printf '%s\n' "$wanted" | install -m 644 /dev/stdin "$sshd.new"
    mv "$sshd.new" "$sshd"
    echo "SSH needs a running job now, except for group $free_group"
fi
