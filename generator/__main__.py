# SPDX-License-Identifier: Apache-2.0
# `python -m generator`.

from generator.cli import entry

if __name__ == "__main__":
    entry()
