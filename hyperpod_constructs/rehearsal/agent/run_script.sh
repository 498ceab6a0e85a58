#!/bin/bash
# Runs an entry script as the platform does: output to the provisioning log, and from there line by line to us.
#   run_script.sh LOG COMMAND...
set -u
umask 077
log=$1
shift
touch "$log"
begin=$(($(wc -c <"$log") + 1))
"$@" >>"$log" 2>&1 </dev/null &
script=$!
# Reads the file, not the script's own output: what the script writes into the log itself is seen too, and a daemon
# that it leaves behind does not keep us here.
tail --pid="$script" --sleep-interval=0.1 --bytes="+$begin" --follow "$log" &
reader=$!
wait "$script"
code=$?
wait "$reader"
exit "$code"
