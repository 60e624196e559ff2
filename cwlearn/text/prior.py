"""A prior that is made of all rows of a text, before the first one is learned."""

from __future__ import annotations

from cwlearn.core.learner import Learner
from cwlearn.core.training import Plan
from cwlearn.text.labels import Labels
from cwlearn.text.row_store import DiskStore, MemoryStore


def set_prior(learner: Learner, store: MemoryStore | DiskStore, plan: Plan, labels: Labels) -> None:
    """Count the rows of each label, except those that the plan holds back, and begin with the prior they suggest."""
    counts = learner.new_label_counts()
    for rows, values, numbers in store.parts():
        weighed = learner.weighed(rows) if isinstance(store, DiskStore) else rows  # those in memory are weighed already
        targets, weights = labels.encode_rows(weighed, values, learner)
        learner.count_labels(counts, weighed, targets, weights, ~plan.held_back(numbers))
    learner.set_prior(counts)
