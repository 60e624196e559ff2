"""A few moments of `tests/proof/concurrency.py`."""

from __future__ import annotations

import pytest

from tests.proof.concurrency import MODELS, Trial


@pytest.mark.parametrize("name", MODELS)
def test_threads_do_everything_with_one_model_at_once(name, tmp_path):
    trial = Trial(MODELS[name], 3, tmp_path)
    trial.run(0.5)
    assert not trial.faults
    assert trial.done["learn"]
    assert trial.done["fork"]
