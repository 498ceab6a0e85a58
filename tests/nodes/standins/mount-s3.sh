#!/bin/bash
# STAND-IN for Mountpoint for Amazon S3: a folder of the shared file system is the bucket.
set -euo pipefail
bucket=${*: -2:1} path=${*: -1}
mkdir -p "/fsx/.buckets/$bucket"
mount --bind "/fsx/.buckets/$bucket" "$path"
exec sleep infinity
