# SPDX-License-Identifier: Apache-2.0
# Writes and checks Helm values files for gpu-sim, one for each git branch.
