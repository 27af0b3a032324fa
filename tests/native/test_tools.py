# SPDX-License-Identifier: Apache-2.0
"""The build's generators: what they refuse and in which words, and what they do where Python lacks a package."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.versions import CHECKOUT, version

pytestmark = pytest.mark.unit

TOOLS = CHECKOUT / "native/tools"
PROFILE = CHECKOUT / "native/profiles/tesla-t4.yaml"


def run(tool: str, *words: object, **environment: str) -> subprocess.CompletedProcess:
    argv = [sys.executable, TOOLS / f"{tool}.py", *words]
    return subprocess.run(
        [str(word) for word in argv], capture_output=True, text=True, env={**os.environ, **environment}
    )


def changed(folder: Path, *changes: tuple[str, str], name: str = "tesla-t4") -> Path:
    """A profile with parts of its text replaced."""
    text = PROFILE.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  total_mib: 15360\n", "", ".memory.total_mib: missing, got nothing; add it"),
        (
            "total_mib: 15360",
            "total_mib: 15.5",
            ".memory.total_mib: wrong value, got 15.5; give a whole number from 1 ",
        ),
        (
            "total_mib: 15360",
            "total_mib: true",
            ".memory.total_mib: wrong value, got True; give a whole number from 1 ",
        ),
        (
            "total_mib",
            "total_mb",
            ".memory.total_mb: no such key, got 15360; known are total_mib, reserved_mib, bar1_mib",
        ),
        ("brand: nvidia", "brand: amd", ".identity.brand: wrong value, got 'amd'; give one of tesla, nvidia"),
        ("  source: capture", "  source: hearsay", ".source: not in sources, got 'hearsay'; name one of capture, "),
        ("name: tesla-t4", "name: t4", ".name: not the file's name, got 't4'; write tesla-t4"),
        ("Tesla T4", "Tésla T4", ".product_name: wrong value, got 'Tésla T4'; give printable ASCII of 1 to 95 "),
        ("features: [ecc,", "features: [wings,", ".identity.features: wrong value, got ['wings', "),
    ],
)
def test_a_wrong_profile_is_refused_in_words(tmp_path, old, new, said):
    path = changed(tmp_path, (old, new))
    result = run("profiles", tmp_path / "out.c", path)
    assert result.returncode == 1
    assert any(line.startswith(f"{path}:") and said in line for line in result.stderr.splitlines()), result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "out.c").exists()


def test_all_problems_of_all_files_are_told_at_once(tmp_path):
    first = changed(tmp_path, ("total_mib", "total_mb"), ("brand: nvidia", "brand: amd"))
    second = tmp_path / "other.yaml"
    second.write_text("a: [")
    result = run("profiles", tmp_path / "out.c", first, second)
    lines = result.stderr.splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        f"{first}:.identity.brand",
        f"{first}:.memory.total_mb",
        f"{first}:.memory.total_mib",
        str(second),
    ]


def test_the_same_profiles_give_the_same_bytes(tmp_path):
    for name in ("a.c", "b.c"):
        assert run("profiles", tmp_path / name, PROFILE).returncode == 0
    assert (tmp_path / "a.c").read_bytes() == (tmp_path / "b.c").read_bytes()


def test_a_function_that_the_header_lacks_is_refused(tmp_path):
    source, header = tmp_path / "x.c", tmp_path / "nvml.h"
    header.write_text("nvmlReturn_t DECLDIR nvmlInit_v2(void);\n")
    source.write_text("nvmlReturn_t gsInit_v3(void) {\n}\n")
    result = run("exports", header, tmp_path / "out", source)
    assert result.returncode == 1
    assert result.stderr == (
        f"{source}:gsInit_v3: nvml.h has no such function, got gsInit_v3; name it gs + the function without nvml\n"
    )
    source.write_text("")
    header.write_text("int nothing;\n")
    assert run("exports", header, tmp_path / "out", source).stderr == (
        f"{header}: no function found, got 0; is it NVML's header?\n"
    )


def test_the_header_is_the_pinned_one():
    result = run("header")
    assert result.returncode == 0, result.stderr
    package = importlib.metadata.distribution("nvidia-nvml-dev")
    assert package.version == version("nvml-header")
    headers = [Path(package.locate_file(file)) for file in package.files if file.name == "nvml.h"]
    assert [Path(result.stdout.strip())] == headers


def test_without_the_package_and_without_pip_it_says_what_to_do(tmp_path):
    """An interpreter without any package: the header is asked of pip, whose failure is told with the remedy."""
    result = subprocess.run(
        [sys.executable, "-I", "-S", "-c",
         f"import sys; sys.path.insert(0, {str(TOOLS)!r}); import header; sys.exit(header.main())"],
        capture_output=True, text=True, env={"GPU_SIM_CACHE": str(tmp_path), "PATH": os.environ["PATH"],
                                             "PIP_NO_INDEX": "1", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert result.returncode == 1, result.stdout
    assert "pip failed, got " in result.stderr
    assert f"install nvidia-nvml-dev=={version('nvml-header')}" in result.stderr
    assert "or pass -DNVML_HEADER=/path/to/nvml.h" in result.stderr
    assert list(tmp_path.glob("python/*")) == []
