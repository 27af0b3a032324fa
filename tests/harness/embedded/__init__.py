# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes cluster from upstream's programs as plain processes on this machine. Root and Linux, no Docker."""
