# SPDX-License-Identifier: Apache-2.0
"""`make mutants`: puts each known mistake into a copy of the tree and demands that a test turns red.

    python -m tests.mutants [--cluster] [--list] [NAME ...]

Exit 0 when every mutant was killed, 1 when one survived or could not be judged, 2 for wrong usage.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.catalogue import FOLDER, RUNGS, CatalogueError, Mutant, load
from tests.mutants.rungs import run_tests
from tests.mutants.tree import applied, copy_tree

ROOT = Path(__file__).resolve().parents[2]


def judge(mutants: list[Mutant], tree: Path, rungs: tuple[str, ...] = RUNGS, say=print) -> list[str]:
    """Runs every mutant on each of its rungs in `tree`; returns one line for each that was not killed."""
    bad = []
    for rung in RUNGS:
        here = [m for m in mutants if rung in m.tests and rung in rungs]
        if not here:
            continue
        tests = sorted({test for mutant in here for test in mutant.tests[rung]})
        started = time.monotonic()
        clean = run_tests(rung, tests, tree)
        say(f"{rung:10} {'(unchanged)':34} {clean.kind:9} {time.monotonic() - started:5.1f} s  {clean.detail}")
        if clean.kind != "green":
            bad.append(f"{rung}: the tests do not pass on the unchanged tree, so they judge nothing\n{clean.detail}")
            continue
        for mutant in here:
            started = time.monotonic()
            with applied(mutant, tree):
                outcome = run_tests(rung, mutant.tests[rung], tree)
            verdict = {"red": "killed", "green": "SURVIVED", "broken": "BROKEN"}[outcome.kind]
            first = outcome.detail.splitlines()[0]
            say(f"{rung:10} {mutant.name:34} {verdict:9} {time.monotonic() - started:5.1f} s  {first}")
            if outcome.kind == "green":
                bad.append(
                    f"{mutant.name}: survived ({mutant.what}); make one of {', '.join(mutant.tests[rung])} notice it"
                )
            elif outcome.kind == "broken":
                bad.append(f"{mutant.name}: could not be judged: {outcome.detail}")
    return bad


def _chosen(mutants: list[Mutant], names: list[str]) -> list[Mutant]:
    unknown = sorted(set(names) - {m.name for m in mutants})
    if unknown:
        raise CatalogueError(
            f"mutants:name: is not known, got {', '.join(unknown)}; use one of {', '.join(m.name for m in mutants)}"
        )
    return [m for m in mutants if not names or m.name in names]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these (default: all)")
    parser.add_argument("--cluster", action="store_true", help="judge on a real kubelet as well")
    parser.add_argument("--list", action="store_true", help="name the mutants and what each gets wrong, and stop")
    options = parser.parse_args(arguments)
    try:
        mutants = load(FOLDER)
        if options.list:
            for mutant in mutants:
                print(f"{mutant.name:34} {','.join(mutant.tests):18} {mutant.what}")
            return 0
        chosen = _chosen(mutants, options.names)
        rungs = RUNGS if options.cluster else RUNGS[:-1]
        with tempfile.TemporaryDirectory(prefix="gpu-sim-mutants-") as scratch:
            bad = judge(chosen, copy_tree(ROOT, Path(scratch) / "tree"), rungs)
    except CatalogueError as error:
        print(error, file=sys.stderr)
        return 1
    for line in bad:
        print(line, file=sys.stderr)
    if not bad:
        print(f"{len(chosen)} of {len(chosen)} mutants killed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
