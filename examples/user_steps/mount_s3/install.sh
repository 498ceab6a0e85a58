#!/bin/bash
# An S3 bucket as a folder, by Mountpoint for Amazon S3, mounted at each boot with the node's role.
#   install.sh BUCKET PATH [OPTION OF mount-s3]...
set -euo pipefail
bucket=$1 path=$2
shift 2

program=$(command -v mount-s3) || {
    echo "mount-s3 is not on this image: name its package in container_packages" >&2
    exit 1
}
mkdir -p "$path"
unit=$(systemd-escape --path --suffix=service "$path")
unit=hyperpod-s3-$unit
file=/etc/systemd/system/$unit
install -D -m 644 /dev/stdin "$file.new" <<UNIT
[Unit]
Description=S3 bucket $bucket at $path
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=$program --foreground --allow-other $* $bucket $path
ExecStop=/bin/umount $path
Restart=on-failure
RestartSec=5

[Install]
WantedBy=multi-user.target
UNIT
if cmp -s "$file.new" "$file"; then
    rm "$file.new"
    systemctl enable --now "$unit"
else
    mv "$file.new" "$file"
    systemctl daemon-reload
    systemctl enable "$unit"
    systemctl restart "$unit"
fi
# The service counts as started before the folder is there.
for _ in $(seq 100); do
    if mountpoint -q "$path"; then exit 0; fi
    sleep 0.1
done
journalctl --unit "$unit" --lines 3 --no-pager --output cat >&2
echo "$bucket is not mounted at $path after 10 s" >&2
exit 1
