#!/bin/bash
# Entry script of the style ON_INIT_COMPLETE: the image has set the node up, our steps extend it.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
exec bash run_lifecycle.sh on_init_complete "$@"
