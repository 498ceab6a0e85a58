#!/bin/bash
# STAND-IN for SSSD: refuses a configuration that others may read, as the real one does, and stays. No directory.
set -euo pipefail
[[ $(stat -c %a /etc/sssd/sssd.conf) == 600 ]]
grep -q '^ldap_default_authtok = .' /etc/sssd/sssd.conf
exec sleep infinity
