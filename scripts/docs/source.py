"""What a class says about its arguments, read from its source."""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeGuard

PACKAGE = Path(__file__).parents[2] / "hyperpod_constructs"

_SECTION = re.compile(r"^(Args|Attributes):$")
_OTHER_SECTION = re.compile(r"^[A-Z]\w*:$")
_ENTRY = re.compile(r"^ {4}(\w+): (.*)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Argument:
    """One argument.

    Attributes:
        name: its name.
        type: its annotation, as written.
        default: as written; empty if it is required.
        text: what the docstring says of it.
    """

    name: str
    type: str
    default: str
    text: str


@cache
def _module(name: str) -> ast.Module:
    return ast.parse((PACKAGE / name).read_text())


@cache
def class_in(module: str, name: str) -> ast.ClassDef:
    """The source of a class."""
    return next(node for node in _module(module).body if isinstance(node, ast.ClassDef) and node.name == name)


def summary(module: str, name: str) -> str:
    """The first paragraph of a class's docstring, on one line."""
    text = inspect.cleandoc(ast.get_docstring(class_in(module, name)) or "")
    return _prose(text.split("\n\n")[0])


def arguments(module: str, name: str) -> list[Argument]:
    """The arguments of a construct's ``__init__``, or the fields of a dataclass, in their order."""
    cls = class_in(module, name)
    described = {
        name: text
        for one in (*(class_in(module, base.id) for base in cls.bases if _is_ours(base, module)), cls)
        for name, text in _described(ast.get_docstring(one) or "").items()
    }
    init = [node for node in cls.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    found = _keywords(init[0]) if init else _fields(cls)
    return [Argument(name=key, type=kind, default=default, text=described.get(key, "")) for key, kind, default in found]


def members(module: str, name: str) -> list[tuple[str, str, str]]:
    """The members of an enum: name, value, and what is said below each."""
    found: list[tuple[str, str, str]] = []
    for node in class_in(module, name).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.append((node.targets[0].id, str(ast.literal_eval(node.value)), ""))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and found:
            key, value, _ = found[-1]
            found[-1] = key, value, _prose(inspect.cleandoc(str(node.value.value)))
    return found


def enums(module: str) -> list[str]:
    """The names of the closed sets of a module."""
    classes = (node for node in _module(module).body if isinstance(node, ast.ClassDef))
    return [node.name for node in classes if any(ast.unparse(base) == "StrEnum" for base in node.bases)]


def _is_ours(base: ast.expr, module: str) -> TypeGuard[ast.Name]:
    """Whether a base class is of the same module, so that its docstring speaks of the inherited fields."""
    names = {node.name for node in _module(module).body if isinstance(node, ast.ClassDef)}
    return isinstance(base, ast.Name) and base.id in names


def _keywords(init: ast.FunctionDef) -> Iterator[tuple[str, str, str]]:
    for argument, default in zip(init.args.kwonlyargs, init.args.kw_defaults, strict=True):
        annotation = ast.unparse(argument.annotation) if argument.annotation else ""
        yield argument.arg, annotation, ast.unparse(default) if default is not None else ""


def _fields(cls: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    for node in cls.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            annotation = ast.unparse(node.annotation)
            if not annotation.startswith("ClassVar"):
                yield node.target.id, annotation, ast.unparse(node.value) if node.value is not None else ""


def _described(docstring: str) -> dict[str, str]:
    """What the sections Args and Attributes say, by name."""
    texts: dict[str, str] = {}
    inside, name = False, ""
    for line in inspect.cleandoc(docstring).splitlines():
        if _SECTION.match(line) or _OTHER_SECTION.match(line):
            inside, name = bool(_SECTION.match(line)), ""
        elif inside and (entry := _ENTRY.match(line)):
            # What the arguments say comes first; an attribute of the same name only repeats it.
            name = entry[1] if entry[1] not in texts else ""
            texts |= {name: entry[2]} if name else {}
        elif inside and name and line.strip():
            texts[name] += f" {line.strip()}"
    return {key: _prose(text) for key, text in texts.items()}


def _prose(text: str) -> str:
    """Docstring text as Markdown on one line: double back-ticks become single ones, roles become code."""
    text = re.sub(r":\w+:`~?([\w.]+)`", lambda match: f"`{match[1].rpartition('.')[2]}`", " ".join(text.split()))
    return text.replace("``", "`")
