# SPDX-License-Identifier: Apache-2.0
"""The mutants as data: one YAML file in catalogue/ for each.

Called by __main__ and by test_mutants.py. A mutant is one wrong edit and the tests that a user's report of it would
land in. What must stay true: `find` stands exactly once in `file`, so that an edit can neither miss nor hit twice.
"""

from dataclasses import dataclass
from pathlib import Path

import yaml

FOLDER = Path(__file__).parent / "catalogue"
RUNGS = ("native", "generator", "helm", "cluster")
KEYS = {"what", "noticed", "file", "find", "replace", "tests"}


class CatalogueError(Exception):
    """One message with every problem of the catalogue."""


@dataclass(frozen=True)
class Mutant:
    name: str
    what: str
    noticed: str
    file: str
    find: str
    replace: str
    tests: dict[str, list[str]]  # rung → pytest ids

    def edit(self, tree: Path) -> str:
        """The mutated text of `file` in `tree`; raises where the place is gone or is no longer the only one."""
        path = tree / self.file
        if not path.is_file():
            raise CatalogueError(f"{self.name}:file: no such file, got {self.file!r}; name the file that moved")
        text = path.read_text(encoding="utf-8")
        times = text.count(self.find)
        if times != 1:
            raise CatalogueError(
                f"{self.name}:find: must stand exactly once in {self.file}, got {times} times; quote more of the line"
            )
        return text.replace(self.find, self.replace)


def _problems(path: Path, raw: object) -> list[str]:
    if not isinstance(raw, dict):
        return [f"{path.name}:: must be a mapping, got {type(raw).__name__}; see README.md"]
    found = []
    for key in sorted(KEYS - raw.keys()):
        found.append(f"{path.name}:{key}: is missing, got nothing; add it")
    for key in sorted(raw.keys() - KEYS):
        found.append(f"{path.name}:{key}: is not known, got {raw[key]!r}; use one of {', '.join(sorted(KEYS))}")
    if found:
        return found
    if raw["find"] == raw["replace"]:
        found.append(f"{path.name}:replace: changes nothing, got the text of find; write the mistake")
    if not isinstance(raw["tests"], dict) or not raw["tests"]:
        return [*found, f"{path.name}:tests: must map a rung to pytest ids, got {raw['tests']!r}; name at least one"]
    for rung, tests in raw["tests"].items():
        if rung not in RUNGS:
            found.append(f"{path.name}:tests: is not a rung, got {rung!r}; use one of {', '.join(RUNGS)}")
        if not isinstance(tests, list) or not tests:
            found.append(f"{path.name}:tests.{rung}: must be a list of pytest ids, got {tests!r}; name at least one")
    return found


def load(folder: Path = FOLDER) -> list[Mutant]:
    """Every mutant of the folder, by name; raises CatalogueError with all problems at once."""
    mutants, problems = [], []
    for path in sorted(folder.glob("*.yaml")):
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
        found = _problems(path, raw)
        problems += found
        if not found:
            mutants.append(Mutant(name=path.stem, **raw))
    if problems:
        raise CatalogueError("\n".join(problems))
    return mutants
