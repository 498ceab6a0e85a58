"""Rules of Slurm's accounting database."""

from collections.abc import Iterator

from hyperpod_constructs import limits
from hyperpod_constructs.options import AccountingKind, LifecycleStyle
from hyperpod_constructs.rules.rule import Case, Finding, RuleBook, bad_name, out_of_range, shown
from hyperpod_constructs.tokens import is_token

RULES = RuleBook("Accounting")


@RULES.error("accounting-complete", "model ClusterAccountingDatabase; FACTS 5.1")
def accounting_complete(case: Case) -> Iterator[Finding]:
    """An external database has an endpoint and a secret, and no other kind has them."""
    accounting = case.spec.accounting
    if accounting is None:
        return
    given = {
        "endpoint": accounting.endpoint,
        "secret": accounting.secret,
        "port": accounting.port,
        "database_name": accounting.database_name or None,
    }
    for name, value in given.items():
        if accounting.kind is AccountingKind.EXTERNAL:
            if name in ("endpoint", "secret") and value in (None, ""):
                yield (
                    f"accounting.{name}",
                    "missing; an external database has an endpoint and a secret with its user and password; give both",
                )
        elif value is not None:
            yield (
                f"accounting.{name}",
                f"got a value, allowed: none for {shown(accounting.kind)}; use Accounting.external",
            )


@RULES.error("accounting-endpoint", limits.DATABASE_ENDPOINT.source)
def accounting_endpoint(case: Case) -> Iterator[Finding]:
    """A database's endpoint is a host name, without a port."""
    endpoint = case.spec.accounting.endpoint if case.spec.accounting else None
    if endpoint in (None, "") or is_token(endpoint):
        return
    if not isinstance(endpoint, str):
        yield "accounting.endpoint", f"got {shown(endpoint)}, allowed: {limits.DATABASE_ENDPOINT.words}, as text"
    else:
        port = endpoint.rpartition(":")[2]
        advice = (
            f"give the port by itself: port={port}" if port.isascii() and port.isdigit() else "such as db.example.com"
        )
        if message := bad_name(endpoint, limits.DATABASE_ENDPOINT, otherwise=advice):
            yield "accounting.endpoint", message


@RULES.error("accounting-secret", limits.SECRET_ARN.source)
def accounting_secret(case: Case) -> Iterator[Finding]:
    """A secret that is given as text is given by its ARN."""
    secret = case.spec.accounting.secret if case.spec.accounting else None
    if isinstance(secret, str) and secret and not is_token(secret) and not limits.SECRET_ARN.accepts(secret):
        # Not shown: what is no ARN may be the password.
        yield (
            "accounting.secret",
            f"got text of {len(secret)} characters, allowed: {limits.SECRET_ARN.words}, or an ISecret; keep user and "
            "password in the secret, never here",
        )


@RULES.error("accounting-port", "model ClusterAccountingDatabasePort; FACTS 5.1")
def accounting_port(case: Case) -> Iterator[Finding]:
    """A database's port is 1 to 65535."""
    port = case.spec.accounting.port if case.spec.accounting else None
    if port is None or is_token(port):
        return
    if not isinstance(port, int) or isinstance(port, bool):
        low, high = limits.DATABASE_PORTS
        yield "accounting.port", f"got {shown(port)}, allowed: a whole number, {low} to {high}; leave it out for 3306"
    elif message := out_of_range(port, limits.DATABASE_PORTS):
        yield "accounting.port", message


@RULES.error("accounting-database-name", limits.DATABASE_NAME.source)
def accounting_database_name(case: Case) -> Iterator[Finding]:
    """A database's name has letters, digits, $ and _."""
    name = case.spec.accounting.database_name if case.spec.accounting else ""
    if name and (message := bad_name(name, limits.DATABASE_NAME, instead=name.replace("-", "_"))):
        yield "accounting.database_name", message


@RULES.warning("accounting-image", "FACTS 5.1 and 6.1")
def accounting_image(case: Case) -> Iterator[Finding]:
    """An external database needs an image released after 30 August 2026."""
    accounting, version = case.spec.accounting, case.spec.controller.image_release_version
    if accounting is None or accounting.kind is not AccountingKind.EXTERNAL:
        return
    if limits.IMAGE_RELEASE_VERSION.accepts(version) and _parts(version) <= limits.LAST_IMAGE_WITHOUT_DATABASE:
        yield (
            "controller.image_release_version",
            f"got {shown(version)}, but external accounting needs an image released after 30 August 2026; "
            "pin a newer release, or leave it out for the latest",
        )


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part[:9]) for part in version.split("."))


@RULES.warning("accounting-none", "FACTS 5.6: the image sets up MariaDB on the controller by itself")
def accounting_none(case: Case) -> Iterator[Finding]:
    """The image's own set-up brings an accounting database, whatever the specification says."""
    accounting, style = case.spec.accounting, case.spec.style_of(case.spec.controller)
    if accounting and accounting.kind is AccountingKind.NONE and style is not LifecycleStyle.ON_CREATE:
        yield (
            "accounting",
            f"got Accounting.none(), but with {shown(style)} the image sets up a database on the controller itself; "
            "leave accounting out, or use LifecycleStyle.ON_CREATE",
        )
