"""slurm.conf: keys read and set, the platform's own refused.

Who owns what: FACTS 6.3. Files of the same form (slurmdbd.conf, gres.conf) are edited by the same functions.
"""

import re
from collections.abc import Iterator

from nodelib.errors import StepError
from nodelib.node_files import NodeFiles, Owner

FOLDER = "/opt/slurm/etc"
SLURM_CONF = f"{FOLDER}/slurm.conf"
# New keys go here, so that the platform, which rewrites slurm.conf while we run, meets one Include line of ours only.
OWN_FILE_NAME = "hyperpod_constructs.conf"

PLATFORM_KEYS = ("ClusterName", "SlurmctldHost", "NodeName", "PartitionName", "TaskPlugin", "SchedulerParameters")
# Not for users: the platform's, what these scripts set from typed options, and what would split the cluster's state.
DENIED_KEYS = (*PLATFORM_KEYS, "Nodes", "NodeSet", "DownNodes", "Include", "StateSaveLocation", "TopologyPlugin")
DENIED_PREFIXES = ("AccountingStorage",)

_LINE = re.compile(r"^\s*(?P<key>[A-Za-z][A-Za-z0-9]*)\s*=\s*(?P<value>[^#]*?)\s*(#.*)?$")
_INCLUDE = re.compile(r"^\s*include\s+(?P<name>\S+)", re.IGNORECASE)


def is_denied(key: str) -> bool:
    """Whether a user's setting of that key is refused; Slurm does not mind case, so neither do we."""
    lowered = key.lower()
    names = {name.lower() for name in DENIED_KEYS}
    return lowered in names or lowered.startswith(tuple(prefix.lower() for prefix in DENIED_PREFIXES))


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """Every key with its value, in order; of a line with several (NodeName=...) the first and the rest as value."""
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            yield match["key"], match["value"]


def value_of(text: str, key: str) -> str | None:
    """The value that Slurm would use: of several the last."""
    values = [value for name, value in pairs(text) if name.lower() == key.lower()]
    return values[-1] if values else None


def with_key(text: str, key: str, value: str | None) -> str:
    """The text with one line for the key, in its old place if it had one; ``None`` removes it."""
    lines: list[str] = []
    done = value is None
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None or match["key"].lower() != key.lower():
            lines.append(line)
        elif not done:
            done = True
            lines.append(line if match["value"] == value else f"{key}={value}")
    if not done:
        lines.append(f"{key}={value}")
    return "\n".join(lines) + "\n" if lines else ""


def quoted(value: str, what: str) -> str:
    """Any text, a password say, as a value that Slurm's reader takes for exactly that text.

    There a ``#`` starts a comment and a backslash escapes, in quotation marks too; blanks need quotation marks, and
    those have no escape.

    Raises:
        StepError: no line can hold it; ``what`` names it, since its text may be a secret.
    """
    escaped = value.replace("\\", "\\\\").replace("#", "\\#")
    if not any(character.isspace() for character in value) and not value.startswith('"'):
        return escaped
    if '"' in value or not value.isprintable():
        raise StepError(f"{what} has a line break, or a quotation mark besides blanks or at its start: choose another")
    return f'"{escaped}"'


def with_word(value: str | None, word: str) -> str:
    """A comma-separated value with one more word, unless it has it."""
    words = [part for part in (value or "").split(",") if part]
    return ",".join(words if word in words else [*words, word])


class SlurmConf:
    """slurm.conf and the files it includes, on one node.

    Raises (all methods):
        StepError: a key is the platform's; the caller has a mistake.
    """

    def __init__(self, files: NodeFiles) -> None:
        self._files = files

    def included(self) -> list[str]:
        """Paths of slurm.conf and of what it includes, in the order in which Slurm reads them."""
        names = [match["name"] for line in self._files.read(SLURM_CONF).splitlines() if (match := _INCLUDE.match(line))]
        paths = [name if name.startswith("/") else f"{FOLDER}/{name}" for name in names]
        return [SLURM_CONF, *paths]

    def get(self, key: str) -> str | None:
        """The value in force; ``None`` if the key is nowhere."""
        values = [value for path in self.included() if (value := value_of(self._files.read(path), key)) is not None]
        return values[-1] if values else None

    def text(self) -> str:
        """Everything that Slurm reads, one file after the other."""
        return "\n".join(self._files.read(path) for path in self.included())

    def set(self, key: str, value: str) -> bool:
        """Set a key where it stands, or in our own included file if it stands nowhere; return whether that changed."""
        _refuse_platform_key(key)
        if self.get(key) == value:
            return False
        for path in reversed(self.included()):
            if value_of(self._files.read(path), key) is not None:
                return self._files.edit(path, lambda text: with_key(text, key, value))
        return self._set_in_own_file(key, value)

    def remove(self, key: str) -> bool:
        """Remove a key wherever it stands."""
        _refuse_platform_key(key)
        changed = [self._files.edit(path, lambda text: with_key(text, key, None)) for path in self.included()]
        return any(changed)

    def set_default(self, key: str, value: str) -> bool:
        """Set a key only if it stands nowhere."""
        return self.get(key) is None and self.set(key, value)

    def add_word(self, key: str, word: str) -> bool:
        """Add a word to a comma-separated value."""
        return self.set(key, with_word(self.get(key), word))

    def _set_in_own_file(self, key: str, value: str) -> bool:
        path = f"{FOLDER}/{OWN_FILE_NAME}"
        changed = self._files.edit(path, lambda text: with_key(text or _HEADER, key, value))
        if path not in self.included():
            self._files.edit(SLURM_CONF, lambda text: f"{text.rstrip()}\nInclude {OWN_FILE_NAME}\n")
        return changed


def _refuse_platform_key(key: str) -> None:
    if key.lower() in {name.lower() for name in PLATFORM_KEYS}:
        raise StepError(f"{key} belongs to the platform and is not changed")


_HEADER = "# Written by the node scripts of hyperpod-constructs\n"


def slurm_user(files: NodeFiles) -> tuple[str, Owner]:
    """Name and ids of the account that slurmctld and slurmdbd run as.

    Raises:
        StepError: the account is not on this node.
    """
    name = SlurmConf(files).get("SlurmUser") or "root"
    for line in files.read("/etc/passwd").splitlines():
        fields = line.split(":")
        if fields[0] == name and len(fields) > 3:
            return name, (int(fields[2]), int(fields[3]))
    raise StepError(f"slurm.conf names the account {name}, which is not in /etc/passwd")
