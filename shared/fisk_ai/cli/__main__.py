"""``python -m fisk_ai.cli``: the ``fisk-ai`` command where the script is not on the path."""

import sys

from fisk_ai.cli.main import main

sys.exit(main())
