# SPDX-License-Identifier: Apache-2.0
"""Plain tables for people: columns as wide as their longest cell.

Called by cli and report.
"""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[object]], indent: str = "  ") -> str:
    """Lines with the head first; numbers are right-aligned, an empty cell shows as '-'."""
    cells = [[str(cell) if cell not in (None, "") else "-" for cell in row] for row in rows]
    for row in cells:
        if len(row) != len(head):
            raise ValueError(f"a row of {len(row)} cells under {len(head)} heads: {row}")
    widths = [max(len(column[0]), *(len(cell) for cell in column[1:]), 0) for column in zip(head, *cells, strict=True)]
    numeric = [bool(rows) and all(isinstance(row[i], int) for row in rows) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        parts = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        return (indent + "  ".join(parts)).rstrip()

    return "\n".join([line(head), *(line(row) for row in cells)])
