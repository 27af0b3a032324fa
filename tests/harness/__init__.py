# SPDX-License-Identifier: Apache-2.0
"""What tests and `make` share: programs, clusters, images, Helm, waiting. No tests in here."""
