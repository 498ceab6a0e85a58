#!/bin/bash
# Accounts from an LDAP directory, by SSSD.
#   install.sh LDAPS_URI SEARCH_BASE BIND_DN ARN_OF_THE_SECRET_WITH_THE_BIND_PASSWORD [GROUP THAT MAY COME IN]...
# A file ca.pem beside this script, if there is one, becomes the trusted certificate. The password is read on the node with
# the node's role: in the template or the bucket everybody who may read them would see it.
set -euo pipefail
uri=$1 base=$2 bind_dn=$3 secret=$4
shift 4
homes=${HYPERPOD_HOMES:-/home}

command -v sssd >/dev/null || {
    echo "sssd is not on this image: name its packages in container_packages" >&2
    exit 1
}

put() { # FILE MODE: write standard input there; true if that changed anything
    install -D -m "$2" /dev/stdin "$1.new"
    if cmp -s "$1.new" "$1"; then
        rm "$1.new"
        return 1
    fi
    mv "$1.new" "$1"
}

changed=no
if [[ -e ca.pem ]] && put /etc/sssd/ca.pem 644 <ca.pem; then changed=yes; fi
password=$(aws secretsmanager get-secret-value --secret-id "$secret" --query SecretString --output text)
allowed=("access_provider = permit")
if (($# > 0)); then
    groups=$(IFS=,; echo "$*")
    allowed=("access_provider = simple" "simple_allow_groups = ${groups//,/, }")
fi
if put /etc/sssd/sssd.conf 600 <<CONF; then changed=yes; fi
[sssd]
services = nss, pam, ssh
domains = directory

[domain/directory]
id_provider = ldap
auth_provider = ldap
$(printf '%s\n' "${allowed[@]}")
ldap_uri = $uri
ldap_search_base = $base
ldap_default_bind_dn = $bind_dn
ldap_default_authtok = $password
ldap_tls_reqcert = demand
$(if [[ -e /etc/sssd/ca.pem ]]; then echo "ldap_tls_cacert = /etc/sssd/ca.pem"; fi)
# Numeric ids come from the directory: they are what the shared file system knows.
ldap_id_mapping = false
override_homedir = $homes/%u
cache_credentials = true
CONF

systemctl enable --now sssd
if [[ $changed == yes ]]; then
    systemctl restart sssd
    echo "sssd serves $base from $uri"
fi
