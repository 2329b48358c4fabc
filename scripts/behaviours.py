"""Check ``tests/behaviours.toml``: every promise is proved by a test that pytest collects.

The file is the honest list of what works. An entry without a test, a test that does not exist and
an id used twice all fail the check.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import cast

ROOT = Path(__file__).resolve().parent.parent
FIELDS = {"id", "promise", "tests"}


def collected() -> set[str]:
    """Return the node ids that pytest collects, without their parameters."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:randomly"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"behaviours: pytest cannot collect the tests\n{done.stdout}{done.stderr}")
    lines = (line for line in done.stdout.splitlines() if "::" in line)
    return {line.split("[", 1)[0] for line in lines}


def problems(entries: list[dict[str, object]], known: set[str]) -> list[str]:
    """Return one sentence for each entry that does not hold."""
    found: list[str] = []
    seen: set[str] = set()
    for position, entry in enumerate(entries, 1):
        label = str(entry.get("id") or f"entry {position}")
        if label in seen:
            found.append(f"{label}: the id is used twice")
        seen.add(label)
        if set(entry) != FIELDS or not entry.get("promise"):
            found.append(f"{label}: needs exactly {', '.join(sorted(FIELDS))}, none empty")
            continue
        tests = cast("list[str]", entry["tests"])
        if not tests:
            found.append(f"{label}: names no test")
            continue
        missing = [test for test in tests if test.split("[", 1)[0] not in known]
        found.extend(f"{label}: no such test: {test}" for test in missing)
    return found


def main(path: Path = ROOT / "tests" / "behaviours.toml") -> None:
    """Check the file and leave with status 1 when a promise is not proved."""
    with path.open("rb") as file:
        entries = tomllib.load(file).get("behaviour", [])
    if not entries:
        sys.exit(f"behaviours: {path.name} promises nothing")
    found = problems(entries, collected())
    for sentence in found:
        print(f"behaviours: {sentence}", file=sys.stderr)
    if found:
        sys.exit(1)


if __name__ == "__main__":
    main()
