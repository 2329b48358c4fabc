#!/bin/sh
# Everything that can be judged without running the product. $1 is the environment's bin folder.
set -eu
bin=$1
"$bin/ruff" format --check --quiet .
"$bin/ruff" check --quiet .
"$bin/pyright"
"$bin/lint-imports" --no-cache
"$bin/codespell"
"$bin/python" scripts/behaviours.py
if grep -n '://' requirements/*.txt; then
    echo "check: the pins must hold no address" >&2
    exit 1
fi
