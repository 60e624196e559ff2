"""What the tests of this room share."""

from __future__ import annotations

FEW = ["cw", "arow", "perceptron", "naive-bayes"]


def without_seconds(comparison):
    """All outcomes but for the time, which differs from run to run."""
    return [{**outcome.as_dict(), "seconds": 0} for outcome in comparison.outcomes.values()]
