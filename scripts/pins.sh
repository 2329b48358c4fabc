#!/bin/sh
# Renew the pinned requirements: names, versions and hashes, never an address.
set -eu
compile() {
    uv pip compile pyproject.toml --quiet --upgrade -p 3.11 --universal --generate-hashes \
        --no-header --no-annotate --no-emit-index-url "$@" >/dev/null
}
compile -o requirements/base.txt
compile --group dev -o requirements/dev.txt
if grep -n '://' requirements/*.txt; then
    echo "pins: an address got into the pins" >&2
    exit 1
fi
