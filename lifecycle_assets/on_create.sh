#!/bin/bash
# Entry script of the style ON_CREATE: the platform runs nothing of its own, everything is set up here.
# Output goes to stdout and to the file that the platform ships to CloudWatch. A pipe, not a process substitution: the
# shell waits for `tee`, so that the last line, which names the failed step, is never lost.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
log_folder="${HYPERPOD_NODE_ROOT:-}/var/log/provision"
mkdir -p "$log_folder"
PYTHONDONTWRITEBYTECODE=1 python3 -u lifecycle_script.py --style on_create "$@" 2>&1 | tee -a "$log_folder/provisioning.log"
exit "${PIPESTATUS[0]}"
