"""Reads YAML and JSON and remembers where everything stood. ruamel.yaml does the parsing."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hyperpod_constructs.cli.failures import CommandError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LARGEST_BYTES = 4 * 1024 * 1024
_LARGEST_POSITIONED = 256 * 1024
"""Beyond that, finding positions takes seconds; problems are then told with the file's name only."""
_MOST_VALUES = 200_000
_DEEPEST = 60

Position = tuple[int, int]
Path_ = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True)
class Document:
    """What a file holds, in plain types.

    Attributes:
        path: the file.
        value: mappings, lists, text, numbers, booleans, None.
        positions: line and column, from 1, by the path of keys and indices.
    """

    path: Path
    value: Any
    positions: Mapping[Path_, Position] = field(default_factory=dict)

    def position(self, where: str) -> Position:
        """Line and column of a path, or of the nearest thing around it; 0, 0 for the file as a whole."""
        parts = split_path(where)
        while parts and parts not in self.positions:
            parts = parts[:-1]
        return self.positions.get(parts, (0, 0))

    def place(self, where: str) -> str:
        """``file:line:column`` of a path like ``compute[1].partition``, or of the nearest thing around it."""
        line, column = self.position(where)
        return f"{self.path}:{line}:{column}" if line else str(self.path)


_PART = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.\[\]]+)')


def split_path(where: str) -> Path_:
    """The keys and indices of a path as messages write it."""
    found: list[str | int] = []
    for quoted, index, name in _PART.findall(where):
        found.append(int(index) if index else name or quoted.replace('\\"', '"'))
    return tuple(found)


def read_document(path: Path) -> Document:
    """Read a YAML or JSON file.

    Raises:
        CommandError: it cannot be read, or is neither; with line and column.
    """
    text = read_text(path)
    is_json = path.suffix.lower() == ".json"
    if is_json:
        _check_json(path, text)
    if len(text) > _LARGEST_POSITIONED:
        if not is_json:
            raise CommandError(f"{path}: has more than {_LARGEST_POSITIONED // 1024} KiB; this is no such file")
        return Document(path=path, value=json.loads(text))
    try:
        value = _parsed(text)
    except CommandError:
        raise
    except Exception as error:
        # JSON that the YAML parser refuses (tabs, say) is still JSON; it only has no positions then.
        if is_json:
            return Document(path=path, value=json.loads(text))
        raise CommandError(_yaml_failure(path, error)) from None
    return _plain_document(path, value)


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        CommandError: it cannot be read, is too large, or is no text.
    """
    try:
        if path.is_dir():
            raise CommandError(f"{path}: is a folder; give a file")
        if path.stat().st_size > LARGEST_BYTES:
            raise CommandError(f"{path}: has more than {LARGEST_BYTES // 1024**2} MiB; this is no such file")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise CommandError(f"{path}: no such file; check the path") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path}: is not text in UTF-8") from None
    except OSError as error:
        raise CommandError(f"{path}: cannot be read: {error.strerror}") from None


def _check_json(path: Path, text: str) -> None:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise CommandError(f"{path}: the key {json.dumps(twice)} is given twice in one object; drop one")
        return dict(pairs)

    try:
        json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise CommandError(f"{path}:{error.lineno}:{error.colno}: not valid JSON: {error.msg}") from None
    except RecursionError:
        raise CommandError(f"{path}: is nested too deeply") from None


def _parsed(text: str) -> Any:
    from ruamel.yaml import YAML

    reader = YAML(typ="rt", pure=True)
    reader.allow_duplicate_keys = False
    return reader.load(text)


def _yaml_failure(path: Path, error: Exception) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
    words = str(getattr(error, "problem", None) or getattr(error, "context", None) or type(error).__name__)
    return f"{where}: not valid YAML: {' '.join(words.split())}"


def _plain_document(path: Path, value: Any) -> Document:
    positions: dict[Path_, Position] = {}
    plain = _Plain(path, positions).value(value, ())
    return Document(path=path, value=plain, positions=positions)


@dataclass
class _Plain:
    """Turns ruamel's round-trip types into plain ones, noting positions on the way."""

    file: Path
    positions: dict[Path_, Position]
    count: int = 0

    def value(self, value: Any, where: Path_) -> Any:
        self.count += 1
        # An alias may stand for much: a small file must not become a large document.
        if self.count > _MOST_VALUES or len(where) > _DEEPEST:
            raise CommandError(f"{self.file}: is nested too deeply or holds too many values; aliases may refer back")
        if isinstance(value, dict):
            return self._mapping(value, where)
        if isinstance(value, list):
            return self._list(value, where)
        return _scalar(value)

    def _mapping(self, value: Any, where: Path_) -> dict[Any, Any]:
        plain = {}
        for key, item in value.items():
            name = _scalar(key)
            here = (*where, str(name))
            self._note(here, value, "key", key)
            plain[name] = self.value(item, here)
        return plain

    def _list(self, value: Any, where: Path_) -> list[Any]:
        plain = []
        for index, item in enumerate(value):
            self._note((*where, index), value, "item", index)
            plain.append(self.value(item, (*where, index)))
        return plain

    def _note(self, here: Path_, container: Any, method: str, key: Any) -> None:
        marks = getattr(container, "lc", None)
        if marks is not None and marks.data and key in marks.data:
            line, column = getattr(marks, method)(key)
            self.positions[here] = (line + 1, column + 1)


def _scalar(value: Any) -> Any:
    """Plain types; a date that was not quoted stays the text that somebody wrote."""
    # ruamel keeps booleans with an anchor, and numbers with their form, in types of its own.
    if isinstance(value, bool) or type(value).__name__ == "ScalarBoolean":
        return bool(value)
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    if value is None:
        return value
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)
