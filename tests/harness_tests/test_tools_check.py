# SPDX-License-Identifier: Apache-2.0
"""`make check` finds what it is there for, and nothing in an orderly tree."""

import io
import subprocess
from pathlib import Path

import pytest

from tests.harness import check, golang, ladder, progress, textrules, versions

pytestmark = pytest.mark.unit
CLANG_FORMAT = (versions.CHECKOUT / ".clang-format").read_text()
LICENCE = "SPDX-License-Identifier: Apache-2.0\n"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A checkout of its own; `write` adds files, which need not be committed."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr(versions, "CHECKOUT", tmp_path)

    def write(name, text):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        return tmp_path

    return write


def test_ignored_and_removed_files_are_nobodys_business(tree):
    tree(".gitignore", "/build/\n")
    tree("build/made.py", "")
    top = tree("kept.py", "")
    subprocess.run(["git", "-C", top, "add", "."], check=True)
    (top / "kept.py").unlink()
    tree("new.c", "")
    assert [str(p) for p in textrules.files()] == [".gitignore", "new.c"]
    assert [str(p) for p in textrules.files(".py")] == []


def test_a_source_file_without_its_licence(tree):
    tree("a.py", "# " + LICENCE)
    tree("b.c", "/* " + LICENCE + " */")
    tree("data.yaml", "a: 1\n")
    tree("c.go", "package main\n\n\n// " + LICENCE)
    assert list(textrules.licence_lines()) == [
        "c.go:1: a source file begins with its licence, got none; add SPDX-License-Identifier: Apache-2.0"
    ]


def test_names_of_one_machine(tree, monkeypatch):
    monkeypatch.setenv("HOME", "/home/of-somebody")
    monkeypatch.setenv("GPU_SIM_CACHE", "/var/tmp/own-cache")
    top = tree("fine.md", "see tests/harness, /var/lib/kubelet and https://packages.example.org.uk/\n")
    tree("a.md", f"run it in {top}/build\n")
    tree("b.py", "x = 1\ny = '/home/of-somebody/x'\n")
    tree("c.sh", "cp /var/tmp/own-cache/x .\n")
    tree("d.toml", 'index = "https://packages.example.org/simple"\n')
    found = sorted(textrules.machine_names(hosts={"packages.example.org"}))
    assert found == [
        f"a.md:1: names this checkout as an absolute path, got {top}; say it without",
        "b.py:2: names a home folder as an absolute path, got /home/of-somebody; say it without",
        "c.sh:1: names this machine's cache as an absolute path, got /var/tmp/own-cache; say it without",
        "d.toml:1: names the host of a package source, got packages.example.org; say it without",
    ]


def test_a_checkout_with_an_ordinary_name_is_not_found_everywhere(tree, monkeypatch):
    top = tree("a.md", "native/src and WORKDIR /src, ${HOME}/opt/here\n")
    monkeypatch.setattr(textrules, "files", lambda: [top / "a.md"])
    for checkout in ("/src", "/opt/here"):
        monkeypatch.setattr(versions, "CHECKOUT", Path(checkout))
        assert list(textrules.machine_names(hosts=set())) == []


def test_package_sources_are_asked_from_the_tools(monkeypatch):
    monkeypatch.setenv("GOPROXY", "https://go.example.org/mirror,direct")
    monkeypatch.setenv("PIP_INDEX_URL", "https://user:secret@wheels.example.org:8443/simple")
    assert {"go.example.org", "wheels.example.org"} <= textrules.package_hosts()


def test_dead_links(tree):
    tree("docs/there.md", "")
    tree(
        "docs/a.md",
        "[x](there.md#part) [y](../docs) [z](https://example.org/) [w](#here) `[code](gone.md)`\n[v](../gone.md)\n",
    )
    assert list(textrules.dead_links()) == [
        "docs/a.md: a link leads nowhere, got ../gone.md; write the path from this file's folder"
    ]


def test_targets_that_the_makefile_does_not_have(tree):
    tree("Makefile", "up: ## start\nclean-cache: ## remove\nVARIABLE := 1\n")
    tree("a.md", "Run `make up`, then make sure; or\n\n    make clean-cache NAME=x\n    make start\n")
    tree(".github/workflows/w.yml", "jobs:\n  - run: make down\n  - run: pip install x && make up\n")
    assert sorted(textrules.unknown_targets()) == [
        ".github/workflows/w.yml:2: the Makefile has no such target, got make down; see make help",
        "a.md:4: the Makefile has no such target, got make start; see make help",
    ]


def test_shell_scripts_by_name_and_by_first_line(tree):
    tree("a.sh", "echo\n")
    tree("run", "#!/usr/bin/env bash\n")
    tree("posix", "#!/bin/sh -e\n")
    tree("program", "#!/usr/bin/env python3\n")
    assert [str(p) for p in textrules.shell_scripts()] == ["a.sh", "posix", "run"]


def test_shellcheck_is_called_on_them(tree):
    tree("fine.sh", "#!/bin/sh\n# " + LICENCE + 'echo "$1"\n')
    assert check.shellcheck() == []
    tree("bad.sh", "#!/bin/sh\n# " + LICENCE + "echo $1\n")
    assert any("SC2086" in line for line in check.shellcheck())


def test_go_that_gofmt_would_change(tree):
    tree("a.go", "package main\n\nfunc main() {}\n")
    assert check.gofmt() == []
    tree("b/b.go", "package b\nfunc  F() {}\n")
    assert check.gofmt() == ["b/b.go: not as gofmt writes it"]


def test_go_vet_in_every_module_of_ours(tree):
    for folder in ("a", "tests/harness/tools/x"):
        tree(f"{folder}/go.mod", f"module m\n\ngo {'.'.join(_go_version())}\n")
        tree(f"{folder}/m.go", 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Printf("%d\\n", "text") }\n')
    found = check.go_vet()
    assert any(line.startswith("a: ") and "format %d has arg" in line for line in found)
    assert not [line for line in found if line.startswith("tests")]


def _go_version():
    return (golang.goroot() / "VERSION").read_text().split()[0].removeprefix("go").split(".")[:2]


def test_c_that_clang_format_would_change(tree):
    tree(".clang-format", CLANG_FORMAT)
    tree("a.c", "int main(void) {\n    return 0;\n}\n")
    assert check.clang_format("--dry-run", "--Werror") == []
    tree("b.h", "int  f( void );\n")
    found = check.clang_format("--dry-run", "--Werror")
    assert found and all(line.startswith("b.h:1:") for line in found)


def test_stale_generated_files_show_their_diff(tree):
    tree("charts/tools/generate.py", "import sys; print('-old'); print('+new'); sys.exit(1)")
    tree("other/generate.py", "raise SystemExit('not one of them')")
    assert check.stale() == ["-old", "+new"]


def test_everything_is_reported_at_once_with_what_mends_it():
    quiet = progress.Progress(io.StringIO(), live=False)
    checks = [
        check.Check("one", lambda: ["a: wrong", "b: wrong"]),
        check.Check("two", list),
        check.Check("three", lambda: iter(["c: wrong"]), mend="by hand"),
    ]
    found = check.check(checks, quiet)
    assert check.report(found).splitlines() == [
        "", "one: make fmt", "  a: wrong", "  b: wrong", "", "three: by hand", "  c: wrong"]  # fmt: skip


def test_an_unknown_option_is_refused(capsys):
    assert check.main(["--mend"]) == 2
    assert capsys.readouterr().err == "check: unknown option, got --mend; give nothing or --fix\n"


@pytest.fixture
def rungs(monkeypatch):
    """The ladder with every rung replaced by its name."""
    taken = []
    monkeypatch.setattr(ladder, "checked", lambda _: taken.append("check"))
    monkeypatch.setattr(ladder, "native", lambda _: taken.append("native"))
    monkeypatch.setattr(ladder, "go", lambda _: taken.append("go"))
    monkeypatch.setattr(ladder, "prepare", lambda _, cluster: taken.append("all" if cluster else "few"))
    monkeypatch.setattr(ladder, "pytest", lambda words: taken.append(words) or 5)
    return taken


def test_the_ladder_ends_with_pytest_and_its_exit_code(rungs):
    assert ladder.main(["--without-cluster", "-k", "drain"]) == 5
    assert rungs == ["check", "native", "go", "few", ["-k", "drain", "-m", "not cluster"]]


def test_the_whole_ladder_prepares_a_cluster_first(rungs):
    assert ladder.main(["tests/e2e"]) == 5
    assert rungs == ["check", "native", "go", "all", ["tests/e2e"]]


def test_what_takes_long_is_made_before_the_tests(monkeypatch):
    made = []
    monkeypatch.setattr(ladder.toolchain, "programs", lambda names, _: made.append(sorted(names)))
    monkeypatch.setattr(ladder.go_build, "PROGRAMS", {"agent": lambda: made.append("agent")})
    monkeypatch.setattr(ladder.images, "RECIPES", {"gpu-sim": None})
    monkeypatch.setattr(ladder.images, "archive", made.append)
    quiet = progress.Progress(io.StringIO(), live=False)
    ladder.prepare(quiet, cluster=True)
    assert made == [["containerd", "etcd", "helm", "kubernetes"], "agent", "gpu-sim"]
    made.clear()
    ladder.prepare(quiet, cluster=False)
    assert made == [["helm"], "agent"]


def test_a_red_rung_ends_the_ladder(rungs, monkeypatch, capsys):
    def red(_):
        raise ladder.command.CommandError("ctest", "ctest failed with exit code 8")

    monkeypatch.setattr(ladder, "native", red)
    assert ladder.main([]) == 1
    assert rungs == ["check"] and "ctest failed with exit code 8" in capsys.readouterr().err


def test_problems_of_make_check_are_a_red_rung(monkeypatch):
    quiet = progress.Progress(io.StringIO(), live=False)
    monkeypatch.setattr(ladder.check, "check", lambda progress: {check.Check("one", list): ["a: wrong"]})
    with pytest.raises(ladder.command.CommandError, match="a: wrong"):
        ladder.checked(quiet)
