# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.harness`: see cli."""

import sys

from tests.harness.cli import main

sys.exit(main(sys.argv[1:]))
