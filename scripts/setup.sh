#!/bin/sh
# Make the virtual environment $1 from requirements/dev.txt and install the project editable.
# Uses uv when it is there, pip otherwise; both check every hash.
set -eu
venv=$1

python=${PYTHON:-}
if [ -z "$python" ]; then
    for candidate in python3 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            python=$candidate
            break
        fi
    done
fi
if [ -z "$python" ]; then
    echo "setup: no Python 3.11 or newer found; set PYTHON to one" >&2
    exit 1
fi

if [ ! -x "$venv/bin/python" ]; then
    "$python" -m venv "$venv"
fi
if command -v uv >/dev/null 2>&1; then
    VIRTUAL_ENV=$venv uv pip sync --quiet --require-hashes requirements/dev.txt
    VIRTUAL_ENV=$venv uv pip install --quiet --no-deps --no-build-isolation -e .
else
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --require-hashes -r requirements/dev.txt
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --no-deps --no-build-isolation -e .
fi
