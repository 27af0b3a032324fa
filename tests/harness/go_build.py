# SPDX-License-Identifier: Apache-2.0
"""Programs of ours in Go and the C clients of the tests: built once for each state of their source, into the cache.

Called by image recipes and tests: `go_build.agent("arm64")` is a path. `python -m tests.harness.go_build` prints all
paths, `… go_build test` vets and tests every Go module.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.harness import cache, cgo, command, golang, upstream, versions

AGENT = versions.CHECKOUT / "native" / "agent"
PLUGIN = versions.CHECKOUT / "tests" / "plugin"
CLIENTS = versions.CHECKOUT / "tests" / "clients"
# None of these names a path of the building machine, nor the commit: the same source gives the same program.
BUILD = ("build", "-buildvcs=false")
# gRPC's own trace pages bring a template engine into every program that speaks gRPC: 6 MB.
TAGS = "grpcnotrace"


def agent(arch: str = "") -> Path:
    """The node's agent: static, for amd64 and arm64."""
    return _go("gpu-sim-agent", AGENT, arch=arch)


def standin() -> Path:
    """The stand-in for NVIDIA's device plugin, for this machine."""
    return _go("nvidia-device-plugin", PLUGIN, with_cgo=True)


def fakekubelet() -> Path:
    """The kubelet's side of the plugin protocol."""
    return _go("fakekubelet", PLUGIN, "./fakekubelet")


def client() -> Path:
    """A client on NVIDIA's Go libraries."""
    return _go("nvml-client", CLIENTS / "go", "./nvmlclient", with_cgo=True)


def podresources() -> Path:
    """Prints what the kubelet has given to which container."""
    return _go("podresources", CLIENTS / "go", "./podresources")


def probe() -> Path:
    """The client that test pods run: C, dynamic, for any glibc of the last ten years."""
    return _c("nvml-probe", [CLIENTS / "pod" / "probe.c"], ["-ldl"], cgo.TARGETS[upstream.arch()])


def musl_probe() -> Path:
    """The same for musl, dynamic too."""
    machine = cgo.TARGETS[upstream.arch()].partition("-")[0]
    return _c("nvml-probe-musl", [CLIENTS / "pod" / "probe.c"], ["-dynamic"], f"{machine}-linux-musl")


def _sources(module: Path) -> list[Path]:
    files = [path for path in module.rglob("*") if path.suffix == ".go" and not path.name.endswith("_test.go")]
    return sorted([*files, module / "go.mod", module / "go.sum"])


def _key(name: str, arch: str, files: list[Path], *more: str) -> str:
    recipe = [Path(__file__).read_bytes(), Path(cgo.__file__).read_bytes()]
    return f"{name}-{arch}-{cache.digest(*(path.read_bytes() for path in files), *recipe, *more)}"


def _go(name: str, module: Path, package: str = ".", *, arch: str = "", with_cgo: bool = False) -> Path:
    arch = arch or upstream.arch()

    def build(folder: Path) -> None:
        extra = cgo.environment(module, arch) if with_cgo else golang.environment() | {"GOARCH": arch}
        flags = cgo.LDFLAGS if with_cgo else "-s -w"
        argv = [golang.go(), *BUILD, "-tags", TAGS, "-ldflags", flags, "-o", folder / name, package]
        command.run(argv, cwd=module, extra=extra)
        if with_cgo and not cgo.make_strong(folder / name):
            raise ValueError(f"{folder / name}: it uses no NVML function; is it built from {module}?")

    key = _key(name, arch, _sources(module), versions.version("go"), versions.version("ziglang") if with_cgo else "")
    return cache.entry("programs", key, build) / name


def _c(name: str, files: list[Path], libraries: list[str], target: str) -> Path:
    arch = upstream.arch()

    def build(folder: Path) -> None:
        extra = {"ZIG_GLOBAL_CACHE_DIR": str(cache.root() / "zig")}
        flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-s"]
        command.run(
            [cgo.zig(), "cc", "-target", target, *flags, *files, "-o", folder / name, *libraries],
            extra=extra,
        )

    return cache.entry("programs", _key(name, arch, files, target, versions.version("ziglang")), build) / name


def test(module: Path) -> None:
    """`go vet` and `go test` for one module; raises with what they print."""
    extra = cgo.environment(module, upstream.arch()) if module != AGENT else golang.environment()
    command.run([golang.go(), "vet", "./..."], cwd=module, extra=extra)
    command.run([golang.go(), "test", "-ldflags", cgo.LDFLAGS, "./..."], cwd=module, extra=extra)


PROGRAMS = {"agent": agent, "standin": standin, "fakekubelet": fakekubelet, "client": client,
            "podresources": podresources, "probe": probe, "musl-probe": musl_probe}  # fmt: skip
MODULES = (AGENT, PLUGIN, CLIENTS / "go")


def main(words: list[str]) -> int:
    unknown = [word for word in words if word != "test" and word not in PROGRAMS]
    if unknown:
        print(f"go_build: unknown, got {' '.join(unknown)}; give test or {', '.join(PROGRAMS)}", file=sys.stderr)
        return 2
    try:
        if "test" in words:
            for module in MODULES:
                test(module)
                print(f"{module.relative_to(versions.CHECKOUT)}: vetted and tested")
        for name in [word for word in words if word != "test"] or ([] if words else PROGRAMS):
            print(f"{name}\t{PROGRAMS[name]()}")
    except (command.CommandError, ValueError) as error:
        print(f"gpu-sim: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
