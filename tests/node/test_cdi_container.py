# SPDX-License-Identifier: Apache-2.0
"""A real container, made by runc as a runtime with CDI makes it: read-only root, no rights, no environment of ours."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import uuid
from pathlib import Path

import pytest

from tests.harness import image_contents, needs, oci
from tests.node.node_root import NodeRoot

pytestmark = pytest.mark.native
VERSION = "550.163.01"


def unpack(root: Path) -> None:
    """The probe image's files: a Debian-like glibc, busybox and an NVML client."""
    (image,) = image_contents.probe()
    for name, entry in image.files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        match entry:
            case oci.File(content, mode):
                path.write_bytes(content)
                path.chmod(mode)
            case oci.Link(target):
                path.symlink_to(target)
            case oci.Directory(mode):
                path.mkdir(exist_ok=True)
                path.chmod(mode)


def hook(node: NodeRoot, name: str, *words: str) -> dict:
    program = str(node.path / "driver/usr/bin/nvidia-cdi-hook")
    return {"path": program, "args": ["nvidia-cdi-hook", name, *words]}


def run(node: NodeRoot, folder: Path, gpus: list[int], command: list[str], *, user: int = 65534) -> str:
    """What the plugin's specification asks for `gpus`: mounts, device nodes, hooks."""
    root = folder / "rootfs"
    root.mkdir()
    unpack(root)
    subprocess.run(["runc", "spec"], cwd=folder, check=True)
    spec = json.loads((folder / "config.json").read_text())
    driver = node.path / "driver"
    libraries = [f"usr/lib64/{name}.{VERSION}" for name in ("libnvidia-ml.so", "libnvidia-gpu-sim.so")]
    for name in (*libraries, "usr/bin/nvidia-smi"):
        mount = {"type": "bind", "options": ["ro", "nosuid", "nodev", "bind"]}
        spec["mounts"].append({"source": str(driver / name), "destination": f"/{name}", **mount})
    nodes = [f"nvidia{gpu}" for gpu in gpus] + ["nvidiactl", "nvidia-uvm"]
    for name in nodes:
        status = (driver / "dev" / name).stat()
        numbers = {"major": os.major(status.st_rdev), "minor": os.minor(status.st_rdev)}
        device = {"path": f"/dev/{name}", "type": "c", "fileMode": stat.S_IMODE(status.st_mode)}
        spec["linux"].setdefault("devices", []).append(device | numbers)
    spec["hooks"] = {
        "createContainer": [
            hook(node, "create-symlinks", "--link", f"libnvidia-ml.so.{VERSION}::/usr/lib64/libnvidia-ml.so.1"),
            hook(node, "enable-cuda-compat", f"--host-driver-version={VERSION}"),
            hook(node, "update-ldcache", "--folder", "/usr/lib64"),
        ]
    }
    spec["root"]["readonly"] = True
    spec["process"] |= {"terminal": False, "args": command, "user": {"uid": user, "gid": user}, "noNewPrivileges": True}
    spec["process"]["env"] = ["PATH=/usr/bin:/bin", "NVIDIA_VISIBLE_DEVICES=void"]
    spec["process"]["capabilities"] = {}
    spec["linux"]["cgroupsPath"] = f"/gpu-sim-test-{uuid.uuid4().hex[:12]}"
    (folder / "config.json").write_text(json.dumps(spec))
    argv = ["runc", "--root", str(folder / "state"), "run", spec["linux"]["cgroupsPath"].strip("/")]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if os.geteuid():
        needs.skip("root", "starts a container")
    if not shutil.which("runc"):
        needs.skip("runc", "starts a container")
    made = tmp_path / "bundle"
    made.mkdir()
    return made


def test_a_glibc_client_sees_its_gpus_only(node: NodeRoot, folder: Path) -> None:
    node.install(6, memory_mib=21000)
    uuids = node.uuids()
    seen = json.loads(run(node, folder, [4, 1], ["nvml-probe"]))
    assert [gpu["uuid"] for gpu in seen["gpus"]] == [uuids[1], uuids[4]]
    assert {gpu["memory_mib"] for gpu in seen["gpus"]} == {21000}


def test_the_static_nvidia_smi_sees_its_gpus_only(node: NodeRoot, folder: Path) -> None:
    node.install(3, profile="tesla-t4")
    uuids = node.uuids()
    assert run(node, folder, [2], ["nvidia-smi", "-L"]) == f"GPU 0: Tesla T4 (UUID: {uuids[2]})\n"


def test_as_root_too(node: NodeRoot, folder: Path) -> None:
    node.install(2)
    out = run(node, folder, [0], ["nvidia-smi", "--query-gpu=count,name", "--format=csv,noheader"], user=0)
    assert out == "1, NVIDIA A100-SXM4-40GB\n"
