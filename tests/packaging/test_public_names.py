"""The public names: pinned, because a removed one breaks an app, and seen by type checkers as at run time."""

import ast
import os
from pathlib import Path

import pytest

import hyperpod_constructs

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests/goldens/public_names.txt"


def test_public_names_are_those_of_the_golden_file_because_a_removed_one_breaks_an_app() -> None:
    text = "".join(f"{name}\n" for name in hyperpod_constructs.__all__)
    if os.environ.get("HYPERPOD_GOLDENS") == "write":
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text(), "run make goldens; a removed name needs a deprecation first (CONTRIBUTING.md)"


def test_no_public_name_is_a_modules_too_because_importing_the_module_would_hide_it() -> None:
    modules = {path.stem for path in Path(hyperpod_constructs.__file__).parent.glob("*.py")}
    assert not modules & set(hyperpod_constructs.__all__)


def test_every_public_name_can_be_imported() -> None:
    for name in hyperpod_constructs.__all__:
        assert getattr(hyperpod_constructs, name).__module__.startswith("hyperpod_constructs."), name


def test_type_checkers_see_each_name_from_the_module_that_it_comes_from() -> None:
    tree = ast.parse(Path(hyperpod_constructs.__file__).read_text())
    seen = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hyperpod_constructs.")
        for alias in node.names
    }
    wanted = {name: f"hyperpod_constructs.{module}.{name}" for name, module in hyperpod_constructs._HOME.items()}
    assert seen == wanted


def test_a_misspelt_name_is_an_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="SlurmClustr"):
        getattr(hyperpod_constructs, "SlurmClustr")  # noqa: B009  an attribute would fail the type checker
