"""The wheel and the sdist hold all that an app needs: proven in an environment of its own, outside this repository."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from hyperpod_constructs import AssetError, assets

ROOT = Path(__file__).parents[2]
SHIPPED = ("hyperpod_constructs", "lifecycle_assets")
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in", *SHIPPED)
_IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
# Another team's app: a cluster and nothing else of this repository.
_APP = """
import sys
from pathlib import Path
import hyperpod_constructs
from aws_cdk import App, Stack
from hyperpod_constructs import ComputeGroup, ControllerGroup, SlurmCluster

app = App(builtin_cloud_formation_validation=False, outdir=sys.argv[1])
SlurmCluster(
    Stack(app, "Theirs"), "Cluster", cluster_name="theirs",
    controller=ControllerGroup(instance_type="ml.m5.xlarge"),
    compute=[ComputeGroup(name="p5", instance_type="ml.p5.48xlarge", instance_count=2)],
)
app.synth()
print(Path(hyperpod_constructs.__file__).parent)
"""


def _run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that is built from it."""
    source = tmp_path_factory.mktemp("source")
    for name in BUILT_FROM:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=_IGNORED)
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, source / name)
    output = tmp_path_factory.mktemp("dist")
    # Without arguments for what to build, the wheel is made from the sdist: what that lacks, the wheel lacks too.
    _run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(output)], source)
    return output


@pytest.fixture(scope="module")
def members(distributions: Path) -> set[str]:
    (wheel,) = distributions.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def _shipped_files(folder: str) -> set[str]:
    return {
        path.relative_to(ROOT / folder).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
    }


@pytest.mark.parametrize(
    ("folder", "place"),
    [
        ("lifecycle_assets", "hyperpod_constructs/lifecycle_assets"),
        ("hyperpod_constructs/handlers", "hyperpod_constructs/handlers"),
    ],
)
def test_every_script_and_every_source_of_a_function_is_in_the_wheel(
    members: set[str], folder: str, place: str
) -> None:
    assert {f"{place}/{name}" for name in _shipped_files(folder)} - members == set()


def test_every_module_and_data_file_is_in_the_wheel(members: set[str]) -> None:
    documents = {name for name in _shipped_files("hyperpod_constructs") if name.endswith(".md")}
    wanted = {f"hyperpod_constructs/{name}" for name in _shipped_files("hyperpod_constructs") - documents}
    assert wanted - members == set()


def test_nothing_compiled_no_test_and_no_setting_of_the_repository_is_in_the_wheel(members: set[str]) -> None:
    strange = {
        name
        for name in members
        if "__pycache__" in name or not name.startswith(("hyperpod_constructs/", "hyperpod_constructs-"))
    }
    assert strange == set()


def test_type_checkers_find_the_marker_that_the_package_is_typed(members: set[str]) -> None:
    assert "hyperpod_constructs/py.typed" in members


def test_the_sdist_holds_scripts_licence_and_readme(distributions: Path) -> None:
    (sdist,) = distributions.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "lifecycle_assets/on_create.sh"} <= names


def test_the_list_of_packages_is_the_tree() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    package = ROOT / "hyperpod_constructs"
    folders = {path.parent for path in package.rglob("*.py") if "__pycache__" not in path.parts}
    tree = {folder.relative_to(ROOT).as_posix().replace("/", ".") for folder in folders}
    assert isinstance(settings["packages"], list), "find misses lifecycle_assets, which is mapped into the package"
    assert set(settings["packages"]) == tree | {"hyperpod_constructs.lifecycle_assets"}


def _installed(distributions: Path, folder: Path) -> Path:
    """Python of a clean environment with the wheel; its dependencies come from the one that runs the tests."""
    venv.create(folder, with_pip=False)
    python = folder / "bin/python"
    (wheel,) = distributions.glob("*.whl")
    _run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "--no-index", str(wheel)],
        folder,
    )
    return python


def _template(python: Path, path: list[Path], folder: Path) -> tuple[str, dict[str, object]]:
    folder.mkdir()
    program = folder / "their_app.py"
    program.write_text(_APP)
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "CDK_CONTEXT_JSON": json.dumps(context),
    }
    place = _run([str(python), "-P", str(program), str(folder / "out")], folder, environment).strip()
    return place, json.loads((folder / "out/Theirs.template.json").read_text())


def test_an_installed_wheel_makes_the_template_that_a_checkout_makes(distributions: Path, tmp_path: Path) -> None:
    # Equal templates mean equal asset hashes: an installation redeploys nothing (STYLE: pip compiles what it installs).
    python = _installed(distributions, tmp_path / "environment")
    dependencies = Path(sysconfig.get_path("purelib"))
    place, installed = _template(python, [dependencies], tmp_path / "installed")
    assert Path(place).is_relative_to(tmp_path / "environment")
    assert list((Path(place) / "lifecycle_assets").rglob("__pycache__")) or list(Path(place).rglob("__pycache__"))
    place, checkout = _template(Path(sys.executable), [ROOT, dependencies], tmp_path / "checkout")
    assert Path(place) == ROOT / "hyperpod_constructs"
    assert installed == checkout


def test_a_broken_installation_is_told_with_both_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "_PACKAGE", tmp_path / "hyperpod_constructs")
    with pytest.raises(AssetError, match=r"on_create.sh is not in .* nor .*; the installation .* is broken"):
        assets.lifecycle_assets()
