"""A few kills of `cwlearn learn`; `python -m tests.proof.kills` does many."""

from __future__ import annotations

from tests.proof.kills import run


def test_e14_kills_at_random_moments_lose_nothing_that_was_answered_and_learn_nothing_twice():
    report = run(kills=3, seed=5, every=3)
    assert report["kills"] == 3
    assert report["lines in the journal"] >= report["labelled lines answered"] > 0
