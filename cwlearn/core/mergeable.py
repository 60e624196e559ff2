"""What models must have in common to be merged."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.learner import Learner
from cwlearn.core.rule import Rule
from cwlearn.core.text_options import TextOptions
from cwlearn.core.training import BUILT_WITH, Training
from cwlearn.errors import ModelError, listed


@dataclass(frozen=True)
class Kind:
    """What models must have in common: everything of a learner except its numbers."""

    name: str  # of the model, for errors
    rule: Rule
    training: Training
    classes: NDArray[Any]
    multilabel: bool
    label_names: list[str]
    label_texts: list[str] | None
    hash_bits: int
    documents: TextOptions | None
    feature_names: list[str] | None

    @classmethod
    def of(cls, learner: Learner, name: str) -> Kind:
        if learner.kernel is not None:
            raise ModelError(f"{name} has a kernel, and such models cannot be merged")
        names = learner.feature_names
        return cls(
            name,
            learner.rule,
            learner.training,
            learner.classes,
            learner.multilabel,
            learner.label_names,
            learner.label_texts,
            learner.hash_bits,
            learner.documents,
            None if names is None else names.tolist(),
        )

    def require(self, other: Kind) -> None:
        """Refuse to merge with another kind; the error says what differs."""
        pairs: dict[str, tuple[Any, Any]] = {
            "task": (self.rule.task, other.rule.task),
            "several labels a row": (self.multilabel, other.multilabel),
            "rule": (self.rule.name, other.rule.name),
        }
        same = all(ours == theirs for ours, theirs in pairs.values())
        if same:
            for item in fields(self.rule):
                pairs[item.name] = (getattr(self.rule, item.name), getattr(other.rule, item.name))
        for name in BUILT_WITH:
            pairs[name] = (getattr(self.training, name), getattr(other.training, name))
        pairs["hash_bits"] = (self.hash_bits or None, other.hash_bits or None)
        pairs["documents"] = (self.documents, other.documents)
        if self.documents is not None and other.documents is not None:
            del pairs["documents"]
            for item in fields(self.documents):
                if item.compare:
                    pairs[item.name] = (getattr(self.documents, item.name), getattr(other.documents, item.name))
        differences = [f"{name} {ours!r} and {theirs!r}" for name, (ours, theirs) in pairs.items() if ours != theirs]
        if same and not np.array_equal(self.classes, other.classes):
            differences.append(f"labels {listed(self.label_names)} and {listed(other.label_names)}")
        for column, names in enumerate(zip(self.feature_names or (), other.feature_names or (), strict=False)):
            if names[0] != names[1]:
                differences.append(f"column {column} named {names[0]!r} and {names[1]!r}")
                break
        if differences:
            raise ModelError(f"{self.name} and {other.name} cannot be merged: {'; '.join(differences)}")

    def learner(self, n_features: int) -> Learner:
        """A new learner of this kind."""
        learner = Learner(self.rule, self.training, self.classes, n_features, multilabel=self.multilabel)
        learner.label_texts, learner.hash_bits = self.label_texts, self.hash_bits
        if self.documents is not None:
            learner.set_documents(self.documents, self.hash_bits)
        if self.feature_names is not None:
            more = [str(column) for column in range(len(self.feature_names), n_features)]
            learner.feature_names = np.array([*self.feature_names, *more], object)
        return learner
