# SPDX-License-Identifier: Apache-2.0
"""The upstream programs, group by group: where their source is, how upstream links them, where releases are.

Read by toolchain. A group is a go.mod with `tool` lines and no Go source of ours; its version must be the one in
pyproject.toml, and its key changes with everything that goes into its programs.
"""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass, field
from pathlib import Path

from tests.harness import cache, download, versions

TOOLS = Path(__file__).with_name("tools")


class ToolchainError(Exception):
    """The groups and the table of versions contradict each other."""


def arch() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


@dataclass(frozen=True)
class Group:
    """`renamed`: what Go calls a program → what upstream's packages call it. `stamps`: -X flags; they cost one link."""

    name: str
    module: str
    programs: tuple[str, ...]
    tags: str = ""
    stamps: tuple[str, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return TOOLS / self.name

    @property
    def version(self) -> str:
        return versions.version(self.name)

    def required(self, module: str) -> str:
        """The version of `module` that this group's go.mod asks for."""
        found = re.search(rf"^\s*(?:require\s+)?{re.escape(module)} v(\S+)", (self.folder / "go.mod").read_text(), re.M)
        if not found:
            raise ToolchainError(f"{self.folder / 'go.mod'}: requires no {module}")
        return found[1]

    def check(self) -> None:
        if self.required(self.module) != self.version:
            raise ToolchainError(
                f"{self.folder / 'go.mod'}:{self.module}: is not the version of pyproject.toml, "
                f"got {self.required(self.module)} instead of {self.version}; see {TOOLS.name}/README.md"
            )

    def ldflags(self) -> str:
        major, minor = self.version.split(".")[:2]
        names = {"version": self.version, "major": major, "minor": minor}
        if self.name == "helm":  # as its release: the Kubernetes minor version that its client library is made for
            names["client_minor"] = self.required("k8s.io/client-go").split(".")[1]
        return " ".join(["-s", "-w", *(f"-X {stamp.format(**names)}" for stamp in self.stamps)])

    def key(self) -> str:
        files = [(self.folder / name).read_bytes() for name in ("go.mod", "go.sum")]
        recipe = (self.tags, self.ldflags(), " ".join(self.programs), versions.version("go"), arch())
        return f"{self.name}-{self.version}-{cache.digest(*files, *recipe)}"

    def releases(self) -> list[download.Release]:
        version, cpu = self.version, arch()
        if self.name == "kubernetes":
            base = f"https://dl.k8s.io/release/v{version}/bin/linux/{cpu}"
            return [download.Release(f"{base}/{name}", f"{base}/{name}.sha256") for name in self.programs]
        if self.name == "helm":
            url = f"https://get.helm.sh/helm-v{version}-linux-{cpu}.tar.gz"
            return [download.Release(url, f"{url}.sha256sum", {f"linux-{cpu}/helm": "helm"})]
        if self.name == "etcd":
            base, name = f"https://github.com/etcd-io/etcd/releases/download/v{version}", f"etcd-v{version}-linux-{cpu}"
            return [download.Release(f"{base}/{name}.tar.gz", f"{base}/SHA256SUMS", {f"{name}/etcd": "etcd"})]
        # The static archive: the other one needs the C library of the machine that it was built on.
        base = f"https://github.com/containerd/containerd/releases/download/v{version}"
        url = f"{base}/containerd-static-{version}-linux-{cpu}.tar.gz"
        return [download.Release(url, f"{url}.sha256sum", {f"bin/{name}": name for name in self.programs})]


VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")

GROUPS = {
    group.name: group
    for group in (
        Group(
            "helm", "helm.sh/helm/v3", ("helm",),
            stamps=("helm.sh/helm/v3/internal/version.version=v{version}",
                    *(f"helm.sh/helm/v3/pkg/{package}.k8sVersion{part}" for package in ("lint/rules", "chartutil")
                      for part in ("Major=1", "Minor={client_minor}"))),
        ),
        Group(
            "containerd", "github.com/containerd/containerd/v2", ("containerd", "containerd-shim-runc-v2", "ctr"),
            tags="no_btrfs,no_zfs,no_devmapper,no_aufs",  # they need C libraries, and nobody here uses them
            stamps=("github.com/containerd/containerd/v2/version.Version=v{version}",),
        ),
        Group("etcd", "go.etcd.io/etcd/server/v3", ("etcd",), renamed={"server": "etcd"}),
        Group(
            "kubernetes", "k8s.io/kubernetes",
            ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"),
            # Without these a node reports v0.0.0-master.
            stamps=tuple(f"{package}.{part}" for package in VERSION_PACKAGES
                         for part in ("gitVersion=v{version}", "gitMajor={major}", "gitMinor={minor}")),
        ),
    )
}  # fmt: skip
