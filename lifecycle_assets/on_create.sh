#!/bin/bash
# Entry script of the style ON_CREATE: the platform runs nothing of its own, everything is set up here.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
exec bash run_lifecycle.sh on_create "$@"
