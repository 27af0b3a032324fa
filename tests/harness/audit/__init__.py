# SPDX-License-Identifier: Apache-2.0
"""Does anybody hold a GPU that somebody else holds? `make audit`, and beside every soak: see watch.Audit."""

from tests.harness.audit.watch import Audit

__all__ = ["Audit"]
