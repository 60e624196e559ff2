"""Mutants of Python are what they say, and reach functions in memory; to try them takes too long for the tests."""

from __future__ import annotations

import ast
import importlib.util

import pytest

from tests.proof.equivalent_package_mutants import EQUIVALENT
from tests.proof.package_mutants import TESTS, room_of, trials
from tests.proof.python_mutant_server import forked, mutate
from tests.proof.python_mutator import mutants_of, mutated
from tests.proof.special_builds import ROOT

SOURCE = '''
LIMIT = 3

def chosen(values, *, limit=LIMIT):
    """The values that are not beyond it."""
    if not values:
        raise ValueError("no values at all")
    return sorted((each for each in values if each < limit), reverse=True)

class Name:
    def text(self):
        super().__init__()
        return f"{self!r}: " + "a-b"
'''


def test_each_mutant_is_one_change_of_a_function():
    whole = ast.unparse(ast.parse(SOURCE))
    found = mutants_of(SOURCE, "core.names")
    assert [mutant.change for mutant, _ in found] == [
        "not values -> values",
        "raise ValueError('no values at all') -> pass",
        "return sorted((each for each in values if each < limit), reverse=True) -> return None",
        "sorted((each for each in values if each < limit), reverse=True) -> "
        "sorted((each for each in values if each < limit))",
        "each < limit -> each <= limit",
        "each < limit -> each >= limit",
        "True -> False",
        "super().__init__() -> pass",
        "return f'{self!r}: ' + 'a-b' -> return None",
        "'a-b' -> 'a-bX'",
    ]
    assert {mutant.rule for mutant, _ in found} == {"core.names.chosen", "core.names.Name.text"}
    assert found[4][0].place == "core/names.py:8"
    assert found[4][1] == (8, 8)
    others = [ast.unparse(mutated(SOURCE, "core.names", mutant.number)) for mutant, _ in found]
    assert len({whole, *others}) == len(found) + 1


@pytest.fixture
def names(tmp_path):
    """The module in memory."""
    path = tmp_path / "names.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("names", path)
    names = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(names)
    return names


def test_a_mutant_reaches_functions_that_are_in_memory_and_a_fork_keeps_it(names):
    chosen = names.chosen

    def changed() -> str:
        mutate(names.__file__, "core.names", 5)
        return str(chosen([1, 2, 3, 4]))

    assert forked(changed, 60) == "[3, 2, 1]"
    assert chosen([1, 2, 3, 4]) == [2, 1]


def test_a_method_whose_only_use_of_its_class_is_gone_can_be_replaced(names):
    mutate(names.__file__, "core.names", 8)
    assert names.Name().text().endswith("a-b")


def test_a_mutant_that_ends_the_process_or_never_ends_is_noticed():
    def endless() -> str:
        while True:
            pass

    assert forked(lambda: "", 60) == ""
    assert forked(ast.literal_eval, 60).startswith("the server: TypeError")
    assert forked(endless, 0.5) == -14


@pytest.fixture(scope="module")
def all_trials():
    return trials()


def test_every_room_has_mutants_and_tests_and_they_are_told_apart(all_trials):
    assert {room_of(trial) for trial in all_trials} == {*TESTS}
    assert len({trial.key for trial in all_trials}) == len(all_trials) > 10_000
    for folders in TESTS.values():
        assert all((ROOT / folder).exists() for folder in folders)


def test_the_equivalent_ones_are_among_them(all_trials):
    for entry in EQUIVALENT:
        there = [trial for trial in all_trials if entry.covers(trial.mutant)]
        assert len(there) >= max(1, len(entry.changes)), entry
        assert entry.reason


def test_the_code_of_a_mutant_can_be_compiled(all_trials):
    for trial in all_trials[::500]:
        source = (ROOT / trial.path).read_text()
        compile(mutated(source, trial.module, trial.mutant.number), trial.path, "exec")
