# SPDX-License-Identifier: Apache-2.0
"""Where the library loads, what it takes from the system, and that two commands build it anywhere."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from tests.harness import cache, command, native_build, native_dir, needs, versions

pytestmark = pytest.mark.native

# The whole of what it takes from libc: files, memory, text, the clock. No thread, no output but write, no allocation,
# no exit, no handler of anything: a name more is a decision. It sleeps where a fault says that a call takes long;
# bcmp is what clang makes of a memcmp that is only compared with 0.
TAKEN = {
    "__errno_location", "access", "bcmp", "clock_gettime", "close", "getenv", "getpid", "memchr", "memcmp", "memcpy",
    "memmove", "memset", "mmap", "munmap", "nanosleep", "open", "read", "sched_yield", "strchr", "strcmp", "strcpy",
    "strcspn", "strerror", "strlen", "strncmp", "strrchr", "strstr", "syscall", "uname", "write",
}  # fmt: skip
START_FILES = {"__cxa_finalize"}  # what gcc's own start files take
EXECUTE, WRITE = 1, 2


@pytest.fixture(scope="module", params=["gcc", *native_build.ARCHITECTURES])
def library(request: pytest.FixtureRequest, native: Path) -> Path:
    if request.param == "gcc":
        return native / "libnvidia-ml-mock.so"
    return native_build.build()[request.param] / "libnvidia-ml.so"


def symbols(library: Path, defined: bool) -> set[str]:
    with library.open("rb") as file:
        found = ELFFile(file).get_section_by_name(".dynsym").iter_symbols()
        strong = [one for one in found if one.name and one["st_info"]["bind"] == "STB_GLOBAL"]
        return {one.name for one in strong if (one["st_shndx"] != "SHN_UNDEF") == defined}


def test_exports_what_the_header_marks_and_nothing_else(library: Path, native: Path) -> None:
    """By a rule of its own: the parser that the build uses cannot forget a function here as well."""
    text = re.sub(r"/\*.*?\*/", " ", native_dir.header().read_text(), flags=re.S)
    marked = set(re.findall(r"\bDECLDIR\s+(?:char\s*\*\s*)?(nvml\w+)\s*\(", text))
    renamed = re.findall(r"#\s*define\s+(nvml[A-Z]\w+)\s+(nvml[A-Z]\w+)\s", text)
    marked |= {name for pair in renamed for name in pair if pair[1] in marked}
    # What only nvidia-smi asks for is in no header.
    assert symbols(library, defined=True) - {"_init", "_fini"} == marked | {"nvmlInternalGetExportTable"}


def test_takes_from_libc_what_no_client_can_notice(library: Path) -> None:
    assert symbols(library, defined=False) - START_FILES - TAKEN == set()


def test_has_no_memory_that_is_both_written_and_executed(library: Path) -> None:
    with library.open("rb") as file:
        segments = [(one["p_type"], one["p_flags"]) for one in ELFFile(file).iter_segments()]
    assert "PT_LOAD" in [kind for kind, _ in segments]
    assert [kind for kind, flags in segments if flags & EXECUTE and flags & WRITE] == []


def test_builds_as_anyone_would_build_it(tmp_path: Path) -> None:
    """Two commands, with gcc and the system's Python; nothing of ours in the environment."""
    bare = {"CC": "gcc", "PATH": "/usr/local/bin:/usr/bin:/bin", "VIRTUAL_ENV": "", "PYTHONPATH": ""}
    cmake = native_dir.tool("cmake")
    command.run([cmake, "-S", versions.CHECKOUT / "native", "-B", tmp_path, "-DCMAKE_BUILD_TYPE=Release"], extra=bare)
    command.run([cmake, "--build", tmp_path], extra=bare)
    for name in ("libnvidia-ml.so", "libnvidia-ml.so.1"):
        assert str((tmp_path / name).readlink()) == "libnvidia-ml-mock.so"
    assert (tmp_path / "gpu-sim").is_file()
    assert "nvmlInit_v2" in symbols(tmp_path / "libnvidia-ml.so", defined=True)


MUSL_CLIENT = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **arguments) {
    void *library = dlopen(arguments[count - 1], RTLD_NOW);
    if (!library) { puts(dlerror()); return 1; }
    int (*init)(void) = (int (*)(void))dlsym(library, "nvmlInit_v2");
    int (*get)(unsigned *) = (int (*)(unsigned *))dlsym(library, "nvmlDeviceGetCount_v2");
    int (*stop)(void) = (int (*)(void))dlsym(library, "nvmlShutdown");
    unsigned gpus = 99;
    int results[3] = {init(), get(&gpus), stop()};
    printf("%d %d %d gpus %u\\n", results[0], results[1], results[2], gpus);
    return dlclose(library);
}
"""


def musl_loader() -> Path:
    """The system's, else the one in Debian's package, kept in the cache."""
    name = f"lib/ld-musl-{os.uname().machine}.so.1"
    if (system := Path("/") / name).is_file():
        return system
    entry = cache.root() / "musl"
    with cache.locked("musl"):
        if not (entry / name).exists():
            if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
                needs.skip("musl", f"no /{name}, and no apt-get to bring it")
            entry.mkdir(parents=True, exist_ok=True)
            brought = command.run(["apt-get", "download", "musl"], cwd=entry, check=False)
            if brought.code:
                needs.skip("musl", f"no /{name}, and apt-get download musl failed")
            for package in entry.glob("*.deb"):
                command.run(["dpkg-deb", "-x", package, entry])
                package.unlink()
    return (entry / name).resolve() if (entry / name).is_symlink() else entry / name


def test_loads_under_musl(tmp_path: Path) -> None:
    machine = os.uname().machine
    architecture = next(name for name, processor in native_build.ARCHITECTURES.items() if processor == machine)
    (tmp_path / "client.c").write_text(MUSL_CLIENT)
    kept = {name: str(cache.root() / "zig") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
    client = tmp_path / "client"
    command.run([native_build.zig(), "cc", "-target", f"{machine}-linux-musl", "-dynamic", "-O2", "-o", client,
                 tmp_path / "client.c"], extra=kept)  # fmt: skip
    library = native_build.build()[architecture] / "libnvidia-ml.so"
    said = command.run([musl_loader(), client, library], extra={"NVML_MOCK_DEVICE_COUNT": "7"})
    assert said.out.strip() == "0 0 0 gpus 7"
