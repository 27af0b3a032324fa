# SPDX-License-Identifier: Apache-2.0
"""The library as a loader sees it, for this machine's build and for both portable ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from tests.harness import native_build, native_dir
from tests.native import header

pytestmark = pytest.mark.native

MACHINES = {"amd64": "EM_X86_64", "arm64": "EM_AARCH64"}
VARIABLES = (
    *("NVML_MOCK_DEVICE_COUNT", "NVML_MOCK_MEMORY_SIZE_MB", "NVML_MOCK_DEVICE_NAME", "NVML_MOCK_PROFILE"),
    *("NVML_MOCK_DRIVER_VERSION", "NVML_MOCK_UUID_FORMAT"),
)  # fmt: skip


@pytest.fixture(scope="module")
def portable() -> dict[str, Path]:
    native_build.build()
    return {arch: native_build.FOLDER / arch / "libnvidia-ml.so" for arch in MACHINES}


@pytest.fixture(scope="module", params=["native", *MACHINES])
def library(request, native, portable) -> Path:
    return native / "libnvidia-ml-mock.so" if request.param == "native" else portable[request.param]


def exported(library: Path) -> set[str]:
    with library.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".dynsym")
        return {one.name for one in symbols.iter_symbols() if one["st_shndx"] != "SHN_UNDEF"}


def dynamic(library: Path, tag: str) -> list:
    with library.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".dynamic")
        return [one for one in section.iter_tags() if one.entry.d_tag == tag]


def test_every_function_of_the_header_is_exported_and_nothing_of_ours(library, native):
    wanted = {function.name for function in header.functions()}
    assert {"nvmlInit", "nvmlInit_v2", "nvmlDeviceGetPciInfo", "nvmlEventSetWait", "nvmlErrorString"} <= wanted
    found = exported(library)
    assert wanted - found == set()
    assert {name for name in found if not name.startswith("nvml")} - {"_init", "_fini"} == set()


def test_old_names_are_functions_of_their_own_macros(native):
    """nvml.h renames by macro: code that only includes it would never define the plain names."""
    text = native_dir.header().read_text(errors="replace")
    renamed = dict(re.findall(r"^\s*#\s*define\s+(nvml[A-Z]\w+)\s+(nvml\w+)\s*$", text, flags=re.M))
    renamed = {old: new for old, new in renamed.items() if not old.endswith("_t")}  # types are renamed too
    assert "nvmlInit" in renamed
    assert (set(renamed) | set(renamed.values())) - exported(native / "libnvidia-ml-mock.so") == set()


def test_it_has_the_drivers_soname_and_needs_at_most_libc(library):
    assert [tag.soname for tag in dynamic(library, "DT_SONAME")] == ["libnvidia-ml.so.1"]
    assert {tag.needed for tag in dynamic(library, "DT_NEEDED")} <= {"libc.so.6"}


def test_it_stays_loaded_and_binds_at_once(library):
    flags = dynamic(library, "DT_FLAGS_1")[0].entry.d_val
    assert flags & 0x8, "NODELETE: a getter beside a dlclose must not fault"
    assert flags & 0x1, "NOW: whatever it lacks shows when it is loaded, not days later"
    assert dynamic(library, "DT_TEXTREL") == []


@pytest.mark.parametrize("arch", MACHINES)
def test_the_portable_library_asks_for_no_glibc_newer_than_2_17(portable, arch):
    with portable[arch].open("rb") as file:
        elf = ELFFile(file)
        assert elf["e_machine"] == MACHINES[arch]
        needs = elf.get_section_by_name(".gnu.version_r")
        versions = {
            auxiliary.name for _, wanted in (needs.iter_versions() if needs else []) for auxiliary in wanted
        }  # fmt: skip
    numbers = {tuple(int(part) for part in name.removeprefix("GLIBC_").split(".")) for name in versions}
    assert all(number <= (2, 17) for number in numbers), versions


@pytest.mark.parametrize("variable", VARIABLES)
def test_each_variable_can_be_read_in_the_file(library, variable):
    assert variable.encode() in library.read_bytes()


def test_the_build_gives_the_links_that_clients_open(native):
    for name in ("libnvidia-ml.so", "libnvidia-ml.so.1"):
        link = native / name
        assert link.is_symlink() and not link.readlink().is_absolute()
        assert link.resolve() == (native / "libnvidia-ml-mock.so").resolve()
