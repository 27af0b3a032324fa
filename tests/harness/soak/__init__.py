# SPDX-License-Identifier: Apache-2.0
"""`make soak`: minutes of work, faults, kills and upgrades under the oracle's eyes. See README.md here."""
