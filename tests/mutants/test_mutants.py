# SPDX-License-Identifier: Apache-2.0
"""The mutation check can fail: a toy tree where one mutant is caught, one is not and one cannot be judged."""

import itertools
import textwrap

import pytest

from tests.mutants.__main__ import ROOT, judge, main
from tests.mutants.catalogue import CatalogueError, Mutant, load
from tests.mutants.tree import applied

pytestmark = pytest.mark.unit


@pytest.fixture
def toy(tmp_path):
    (tmp_path / "shop.py").write_text("PRICE = 7\nVAT = 3\nDISCOUNT = 2\n")
    (tmp_path / "test_shop.py").write_text(
        "import pytest, shop\n\ndef test_price():\n    assert shop.PRICE == 7\n\n"
        "@pytest.mark.skip(reason='toy')\ndef test_discount():\n    assert shop.DISCOUNT == 2\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def mutant(find, replace, test="test_price"):
    return Mutant("toy-mutant", "a toy", "nobody", "shop.py", find, replace, {"generator": [f"test_shop.py::{test}"]})


def test_a_mutant_that_a_test_notices_is_killed(toy):
    said = []
    assert judge([mutant("PRICE = 7", "PRICE = 8")], toy, say=said.append) == []
    assert "toy-mutant" in said[-1] and "killed" in said[-1] and "test_price" in said[-1]


def test_a_surviving_mutant_fails_the_run_with_its_name(toy):
    bad = judge([mutant("VAT = 3", "VAT = 4")], toy, say=lambda line: None)
    assert bad == ["toy-mutant: survived (a toy); make one of test_shop.py::test_price notice it"]


def test_a_mutant_that_breaks_the_tests_themselves_is_not_counted_as_killed(toy):
    (bad,) = judge([mutant("PRICE = 7", "PRICE =")], toy, say=lambda line: None)
    assert bad.startswith("toy-mutant: could not be judged: pytest could not run the tests, exit 4")


def test_a_skipped_test_judges_nothing(toy):
    (bad,) = judge([mutant("DISCOUNT = 2", "DISCOUNT = 5", "test_discount")], toy, say=lambda line: None)
    assert "the tests do not pass on the unchanged tree" in bad
    assert "0 tests ran and 1 were skipped" in bad


def test_the_edit_is_taken_back_even_when_the_run_raises(toy):
    before = (toy / "shop.py").read_bytes()
    with pytest.raises(ZeroDivisionError), applied(mutant("PRICE = 7", "PRICE = 8"), toy):
        assert "PRICE = 8" in (toy / "shop.py").read_text()
        raise ZeroDivisionError
    assert (toy / "shop.py").read_bytes() == before


def test_all_problems_of_a_catalogue_are_named_at_once(tmp_path):
    (tmp_path / "a.yaml").write_text("what: x\ncolour: red\n")
    (tmp_path / "b.yaml").write_text(
        textwrap.dedent("""\
            what: x
            noticed: y
            file: f
            find: same
            replace: same
            tests: {attic: [test_x], helm: []}
        """)
    )
    with pytest.raises(CatalogueError) as caught:
        load(tmp_path)
    said = str(caught.value)
    assert "a.yaml:colour: is not known, got 'red'; use one of file, find, noticed" in said
    assert "a.yaml:tests: is missing, got nothing; add it" in said
    assert "b.yaml:tests: is not a rung, got 'attic'; use one of native, generator, helm, cluster" in said
    assert "b.yaml:replace: changes nothing, got the text of find; write the mistake" in said
    assert "b.yaml:tests.helm: must be a list of pytest ids, got []; name at least one" in said


def test_a_place_that_is_no_longer_unique_is_refused(toy):
    (toy / "shop.py").write_text("PRICE = 7\nOLD = 'PRICE = 7'\n")
    with pytest.raises(CatalogueError, match=r"toy-mutant:find: must stand exactly once in shop.py, got 2 times"):
        mutant("PRICE = 7", "PRICE = 8").edit(toy)


def test_a_wrong_name_is_answered_with_the_right_ones(capsys):
    assert main(["count-constat"]) == 1
    said = capsys.readouterr().err
    assert "mutants:name: is not known, got count-constat; use one of " in said
    assert "chart-count-constant" in said


@pytest.mark.parametrize("each", load(), ids=lambda each: each.name)
def test_every_mutant_of_the_catalogue_still_finds_its_place(each):
    text = each.edit(ROOT)
    assert each.replace in text
    for test in itertools.chain.from_iterable(each.tests.values()):
        assert (ROOT / test.partition("::")[0]).exists(), f"{each.name}:tests: no such file, got {test}"
