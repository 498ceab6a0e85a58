#!/bin/bash
# Runs lifecycle_script.py with its output on stdout and in the log that the platform ships to CloudWatch.
#   run_lifecycle.sh STYLE [ARGUMENTS OF lifecycle_script.py]...
set -uo pipefail
style=$1
shift
log="${HYPERPOD_NODE_ROOT:-}/var/log/provision/provisioning.log"
mkdir -p "${log%/*}"
export PYTHONDONTWRITEBYTECODE=1
command=(python3 -u lifecycle_script.py --style "$style" "$@")
# Where the platform sends stdout to that same file, each line would stand there twice.
if [[ /dev/stdout -ef $log ]]; then
    exec "${command[@]}" 2>&1
fi
# A pipe, not a process substitution: the shell waits for tee, so that the last line, which names the failed step, is
# never lost.
"${command[@]}" 2>&1 | tee -a "$log"
exit "${PIPESTATUS[0]}"
