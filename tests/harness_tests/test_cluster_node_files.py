# SPDX-License-Identifier: Apache-2.0
"""What the embedded cluster writes for its programs: certificates, configuration, control groups of both kinds."""

from __future__ import annotations

import base64
import datetime
import json
import tomllib
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from tests.harness.embedded import certs, cgroups, kubelet, network
from tests.harness.embedded.controlplane import scheduler_config
from tests.harness.runs import RunError

pytestmark = pytest.mark.unit


def test_a_certificate_is_signed_for_its_names_by_the_runs_authority(tmp_path):
    authority = certs.Authority.create()
    authority.save(tmp_path)
    pair = certs.Authority.load(tmp_path).issue("system:node:n7", "system:nodes", ("n7", "10.99.3.16"))
    made = x509.load_pem_x509_certificate(pair.certificate)
    signer = x509.load_pem_x509_certificate(authority.certificate)
    made.verify_directly_issued_by(signer)
    assert made.subject.rfc4514_string() == "O=system:nodes,CN=system:node:n7"
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["n7"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["10.99.3.16"]
    assert made.not_valid_before_utc < datetime.datetime.now(datetime.UTC) < made.not_valid_after_utc
    assert isinstance(made.public_key(), ec.EllipticCurvePublicKey)
    for name in ("ca.key", "ca.crt"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


def test_a_kubeconfig_holds_everything_itself():
    pair = certs.Pair(b"cert", b"key")
    made = yaml.safe_load(certs.kubeconfig("https://10.99.5.1:6443", b"authority", pair, "gpu-sim-x"))
    assert made["current-context"] == "gpu-sim-x"
    assert made["clusters"][0]["cluster"]["server"] == "https://10.99.5.1:6443"
    assert base64.b64decode(made["users"][0]["user"]["client-key-data"]) == b"key"
    assert not [word for word in json.dumps(made).split('"') if word.startswith("/")]


def test_containerd_has_cdi_on_and_the_sandbox_that_was_given():
    made = tomllib.loads(kubelet.containerd("localhost/pause:9"))
    runtime = made["plugins"]["io.containerd.cri.v1.runtime"]
    assert runtime["enable_cdi"] is True
    assert "/var/run/cdi" in runtime["cdi_spec_dirs"]
    assert made["plugins"]["io.containerd.cri.v1.images"]["pinned_images"]["sandbox"] == "localhost/pause:9"
    assert made["grpc"]["address"] == kubelet.CONTAINERD_SOCKET


def test_the_kubelet_takes_gates_taints_and_its_group():
    taint = {"key": "gpu-sim.io/branch", "value": "x", "effect": "NoSchedule"}
    made = json.loads(kubelet.kubelet("/gpu-sim-t/n3", {"SomeGate": False}, [taint]))
    assert made["cgroupRoot"] == "/gpu-sim-t/n3"
    assert made["featureGates"] == {"KubeletCrashLoopBackOffMax": True, "SomeGate": False}
    assert made["registerWithTaints"] == [taint]
    assert made["failCgroupV1"] is False
    assert made["authentication"]["anonymous"] == {"enabled": False}


def test_runs_and_nodes_have_addresses_of_their_own():
    assert network.Net(7).subnet == "10.99.7.0/24"
    addresses = [network.Net(s).node(i) for s in (0, 1, 199) for i in (0, 1, 99)]
    assert len(set(addresses)) == 9
    assert all(len(network.Net(s).interface) <= 15 for s in range(network.SLOTS))
    assert network.Net.pods(5) == "10.244.5.0/24"


def test_a_scheduler_config_keeps_what_the_user_says(tmp_path):
    file = tmp_path / "scheduler.yaml"
    given = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    file.write_text(yaml.safe_dump({**given, "profiles": [{"schedulerName": "packer"}]}))
    made = json.loads(scheduler_config(file))
    assert made["profiles"] == [{"schedulerName": "packer"}]
    assert made["leaderElection"] == {"leaderElect": False}
    assert made["clientConnection"]["kubeconfig"].endswith("/scheduler.conf")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Pod\n", "scheduler.yaml:kind: must be KubeSchedulerConfiguration, got 'Pod'"),
        ("- a\n", "scheduler.yaml:kind: must be KubeSchedulerConfiguration, got 'list'"),
        (": :\n  - x: [", "scheduler.yaml: cannot be read"),
        (None, "scheduler.yaml: cannot be read"),
    ],
)
def test_a_file_that_is_no_scheduler_config_is_refused(text, message, tmp_path):
    file = tmp_path / "scheduler.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(RunError, match=message):
        scheduler_config(file)


# ---- control groups, on trees of files that look like the kernel's ----
def v1(tmp_path: Path) -> Path:
    rows = []
    for controller in ("cpu,cpuacct", "cpuset", "memory"):
        point = tmp_path / controller
        point.mkdir()
        rows.append(f"cgroup {point} cgroup rw,relatime,{controller} 0 0")
    (tmp_path / "cpuset/cpuset.cpus").write_text("0-1\n")
    (tmp_path / "cpuset/cpuset.mems").write_text("0\n")
    (tmp_path / "unified").mkdir()
    rows.append(f"cgroup2 {tmp_path / 'unified'} cgroup2 rw,relatime 0 0")
    mounts = tmp_path / "mounts"
    mounts.write_text("\n".join(rows) + "\n")
    return mounts


def v2(tmp_path: Path, enabled: str = "") -> Path:
    point = tmp_path / "cgroup"
    point.mkdir()
    (point / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (point / "cgroup.subtree_control").write_text(enabled)
    mounts = tmp_path / "mounts"
    mounts.write_text(f"cgroup2 {point} cgroup2 rw,nosuid 0 0\n")
    return mounts


def test_on_v1_a_node_has_a_group_in_every_hierarchy_with_cpus(tmp_path, monkeypatch):
    mounts = v1(tmp_path)
    assert cgroups.hierarchies(mounts)[0] == "v1"
    # The kernel would make these files with the folder.
    monkeypatch.setattr(Path, "mkdir", _with_files(Path.mkdir, {"cpuset": ("cpuset.cpus", "cpuset.mems")}))
    assert cgroups.make("gpu-sim-t", "n1", mounts) == "/gpu-sim-t/n1"
    for controller in ("cpu,cpuacct", "cpuset", "memory"):
        assert (tmp_path / controller / "gpu-sim-t/n1").is_dir()
    assert (tmp_path / "cpuset/gpu-sim-t/n1/cpuset.cpus").read_text() == "0-1\n"
    assert (tmp_path / "cpuset/gpu-sim-t/n1/cpuset.mems").read_text() == "0\n"


def test_on_v2_controllers_are_enabled_level_by_level(tmp_path, monkeypatch):
    mounts = v2(tmp_path)
    written = []
    monkeypatch.setattr(Path, "mkdir", _with_files(Path.mkdir, {"": ("cgroup.controllers", "cgroup.subtree_control")}))
    original = Path.write_text

    def write(self, text, *rest):
        if self.name == "cgroup.subtree_control" and text.startswith("+"):
            written.append((self.parent.name, text))
        return original(self, text, *rest)

    monkeypatch.setattr(Path, "write_text", write)
    assert cgroups.hierarchies(mounts)[0] == "v2"
    assert cgroups.make("gpu-sim-t", "n1", mounts) == "/gpu-sim-t/n1"
    for folder in ("cgroup", "gpu-sim-t", "n1"):
        assert {text for name, text in written if name == folder} == {"+cpuset", "+cpu", "+io", "+memory", "+pids"}


def test_on_v2_a_group_full_of_processes_is_named(tmp_path, monkeypatch):
    mounts = v2(tmp_path)

    def busy(self, text, *rest):
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(Path, "write_text", busy)
    with pytest.raises(
        cgroups.CgroupError, match=r"cgroup.subtree_control: cpu cannot .* got processes live in this group"
    ):
        cgroups.make("gpu-sim-t", "n1", mounts)


def test_no_hierarchy_at_all_is_said(tmp_path):
    (tmp_path / "mounts").write_text("tmpfs /sys/fs/cgroup tmpfs rw 0 0\n")
    with pytest.raises(cgroups.CgroupError, match="no cgroup file system is mounted"):
        cgroups.make("gpu-sim-t", "n1", tmp_path / "mounts")


def test_groups_are_removed_from_every_hierarchy_the_hybrid_one_too(tmp_path):
    mounts = v1(tmp_path)
    for top in ("memory", "unified"):
        (tmp_path / top / "gpu-sim-t/n1/kubepods/pod1").mkdir(parents=True)
        (tmp_path / top / "gpu-sim-other/n1").mkdir(parents=True)
    assert cgroups.remove("gpu-sim-t", mounts=mounts) == []
    for top in ("memory", "unified"):
        assert not (tmp_path / top / "gpu-sim-t").exists()
        assert (tmp_path / top / "gpu-sim-other/n1").is_dir()
    assert cgroups.remove("gpu-sim-t", mounts=mounts) == []


def test_a_group_that_stays_is_reported(tmp_path):
    mounts = v1(tmp_path)
    (tmp_path / "memory/gpu-sim-t/n1").mkdir(parents=True)
    (tmp_path / "memory/gpu-sim-t/n1/tasks").write_text("1\n")  # rmdir fails on it, as on a group with processes
    assert cgroups.remove("gpu-sim-t", mounts=mounts) == [tmp_path / "memory/gpu-sim-t"]


def _with_files(mkdir, wanted: dict[str, tuple[str, ...]]):
    def made(self, *rest, **more):
        mkdir(self, *rest, **more)
        for part, names in wanted.items():
            if not part or part in self.parts:
                for name in names:
                    content = "cpuset cpu io memory pids\n" if name == "cgroup.controllers" else ""
                    (self / name).touch()
                    with (self / name).open("w") as out:
                        out.write(content)

    return made
