"""A signal at some of the places of `tests.proof.interruptions`, which tries all of them."""

from __future__ import annotations

import random

import pytest

from tests.proof.interruptions import OPERATIONS, Trials


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_interrupted_operation_leaves_the_state_before_or_after_it(operation):
    trials = Trials(operation)
    places = random.Random(operation.name).sample(range(trials.looks), 20)
    assert {at: trials.fault(at) for at in places} == dict.fromkeys(places)
