"""Reads JSON objects into typed values and notes every problem under its path, instead of raising at the first."""

from typing import Any


class Reader:
    """Reads one JSON object, noting problems under their path instead of raising at the first."""

    def __init__(self, value: object, path: str, problems: list[str]) -> None:
        self.path, self.problems = path, problems
        self.values: dict[str, Any] = value if isinstance(value, dict) else {}
        if not isinstance(value, dict):
            self.note("", value, "an object")

    def note(self, key: str, value: object, wanted: str) -> None:
        """Note a problem at a key."""
        path = ".".join(part for part in (self.path, key) if part)
        self.problems.append(f"{path or 'document'} is {value!r}, expected {wanted}")

    def text(self, key: str, default: str | None = None) -> str:
        """A text; a problem if it is something else, or missing without a default."""
        value = self.values.get(key, default)
        if isinstance(value, str):
            return value
        self.note(key, value, "a text")
        return ""

    def choice(self, key: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        """One of several words."""
        value = self.values.get(key, default)
        if value in allowed:
            return str(value)
        self.note(key, value, "one of " + ", ".join(allowed))
        return allowed[0]

    def number(self, key: str, default: int | None = None) -> int:
        """A whole number."""
        value = self.values.get(key, default)
        # Deploy-time numbers, such as a database's port, may arrive as text.
        if isinstance(value, str) and value.isdigit():
            return int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self.note(key, value, "a whole number")
        return 0

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.values.get(key, default)
        if isinstance(value, bool):
            return value
        self.note(key, value, "true or false")
        return default

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; none if the key is missing."""
        value = self.values.get(key, [])
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        self.note(key, value, "a list of texts")
        return ()

    def text_values(self) -> dict[str, str]:
        """All keys of the object, with texts as values."""
        return {key: self.text(key) for key in self.values}

    def child(self, key: str) -> "Reader":
        """The object at a key; empty if the key is missing."""
        return Reader(self.values.get(key, {}), f"{self.path}.{key}".strip("."), self.problems)

    def children(self, key: str) -> dict[str, "Reader"]:
        """The objects in the object at a key."""
        owner = self.child(key)
        return {name: owner.child(name) for name in owner.values}

    def items(self, key: str) -> list["Reader"]:
        """The objects in the list at a key; none if the key is missing."""
        value = self.values.get(key, [])
        if isinstance(value, list):
            path = f"{self.path}.{key}".strip(".")
            return [Reader(item, f"{path}[{index}]", self.problems) for index, item in enumerate(value)]
        self.note(key, value, "a list")
        return []
