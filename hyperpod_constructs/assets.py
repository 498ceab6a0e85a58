"""Where the files that ship with this package are, and what of a folder is never part of an asset."""

from pathlib import Path

from hyperpod_constructs.errors import AssetError

_PACKAGE = Path(__file__).parent

# pip byte-compiles what it installs, so these would make the fingerprint of a wheel differ from a checkout's
# (STYLE, fact 12): every installation would upload, and run, the same scripts anew.
EXCLUDED = ("**/__pycache__", "**/__pycache__/**", "**/*.pyc", "**/.*", "**/README.md")


def lifecycle_assets() -> Path:
    """The folder of the node scripts: inside an installed package, beside it in a checkout.

    Raises:
        AssetError: it is in neither place.
    """
    return _first_with("on_create.sh", _PACKAGE / "lifecycle_assets", _PACKAGE.parent / "lifecycle_assets")


def handlers() -> Path:
    """The folder of the Lambda packages.

    Raises:
        AssetError: it is not there.
    """
    return _first_with("cluster", _PACKAGE / "handlers")


def _first_with(content: str, *folders: Path) -> Path:
    for folder in folders:
        if (folder / content).exists():
            return folder
    places = " nor ".join(str(folder) for folder in folders)
    raise AssetError(
        f"{content} is not in {places}; the installation of hyperpod-constructs is broken, install it anew"
    )
