#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Called by machine.py inside a new mount namespace: a file tree of the machine's own over everything that node software
# writes to. Nothing of it touches the host, and it is gone with the namespace.
# TOP: where to stage /run; ETC: the machine's folder in the run's folder; CNI: folder of plugins or ''; NAME=PROGRAM...
set -eu
top=$1 etc=$2 cni=$3
shift 3

# -n: there is no mount table to keep, it would be in the /run that is just covered.
# One file system for each place: the kubelet finds the disk of a folder by its device number.
for folder in /opt /var/lib /var/log; do
    mount -n -t tmpfs -o mode=755 gpu-sim "$folder"
done
mkdir -p /var/lib/kubelet /var/lib/containerd /var/lib/cni /var/log/pods

# Staged, since what is bound into it may lie below the host's /run.
mount -n -t tmpfs -o mode=755 gpu-sim "$top"
mkdir -p "$top/gpu-sim/bin" "$top/gpu-sim/etc" "$top/gpu-sim/cni" "$top/lock"
mount -n --bind "$etc" "$top/gpu-sim/etc"
if [ -n "$cni" ]; then
    mount -n --bind "$cni" "$top/gpu-sim/cni"
fi
for pair in "$@"; do
    file=$top/gpu-sim/bin/${pair%%=*}
    : >"$file"
    mount -n --bind "${pair#*=}" "$file"
done
mount -n --move "$top" /run

# As on a real host, where systemd does it: a container's mount shows up where it asked for that.
mount -n --make-rshared /
