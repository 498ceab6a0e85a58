"""Write the pages that say what the code says: docs/props.md, docs/rules.md and docs/cluster.schema.json.

    python scripts/docs_from_code.py            write them
    python scripts/docs_from_code.py --check    exit 1 when one is not what the code gives

Nothing of the AWS CDK is loaded: constructs are read as source, so that this takes a second and runs in every test.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.docs import props, rules, schema  # noqa: E402  found from any folder only after the line above

PAGES = {"props.md": props.page, "rules.md": rules.page, "cluster.schema.json": schema.page}


def main() -> int:
    """Write or check; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page is out of date")
    check = parser.parse_args().check
    outdated = []
    for name, page in PAGES.items():
        path, text = ROOT / "docs" / name, page()
        if path.exists() and path.read_text() == text:
            continue
        outdated.append(name)
        if not check:
            path.write_text(text)
    if outdated:
        sys.stdout.write(f"{'out of date, run make docs' if check else 'written'}: {', '.join(outdated)}\n")
    return 1 if check and outdated else 0


if __name__ == "__main__":
    sys.exit(main())
