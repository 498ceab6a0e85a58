#!/bin/bash
# STAND-IN for a collector such as Prometheus: reads the configuration it is given and stays.
set -euo pipefail
python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["remote_write"][0]["url"])' "${1#--config.file=}"
exec sleep infinity
