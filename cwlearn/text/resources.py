"""The size of a model that is trained from text, and the memory and threads that it may use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cwlearn.core.parameters import COUNT, NOTHING, SIZE, THREADS, Check, Options, is_integer, option
from cwlearn.core.rule import Rule
from cwlearn.core.states.factory import blocks_of, state_bytes
from cwlearn.core.training import Training
from cwlearn.errors import DataError
from cwlearn.text.batch import Batch

HASH_BITS = Check("an integer from 1 to 40", lambda value: is_integer(value) and 1 <= value <= 40, int, "N")


@dataclass(frozen=True)
class Resources(Options):
    """The size of the model, and the memory and threads to use."""

    n_features: int | None = option(
        None, NOTHING | COUNT, "Columns of the model; by default, as many as the data have."
    )
    hash_bits: int | None = option(
        None,
        NOTHING | HASH_BITS,
        "Hash features to this number of bits: 2^bits columns, whatever the data. Documents always are, to 20 by "
        "default.",
    )
    memory: int | None = option(
        None,
        NOTHING | SIZE,
        "Bytes for the rows between two epochs, and for weights whose number is not given. By default half of what is "
        "free; with several workers, 1G for each of them.",
    )
    threads: int | None = option(
        None, NOTHING | THREADS, "Threads that parse text. By default one for each core that may be used."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_hashed_size(self.n_features, self.hash_bits or 0)


def check_hashed_size(n_features: int | None, hash_bits: int) -> None:
    if hash_bits and n_features not in (None, 1 << hash_bits):
        raise ValueError(f"`n_features` must be {1 << hash_bits} with `hash_bits` {hash_bits}, got {n_features}")


def check_weights(batch: Batch, rule: Rule) -> None:
    """End a batch before the first row with a weight other than 1, if the rule takes none."""
    if batch.weights is None or rule.takes_weights:
        return
    row = int(np.argmax(batch.weights != 1))
    what = f"the importance of this row is {batch.weights[row]:g}, and {rule.name} has no loss that weights can scale"
    batch.end_with(DataError(what), batch.place_of(row))


class WeightLimit:
    """Refuses columns that ask for more weights than are allowed, before any memory is taken for them.

    `n_features` allows that many columns.  Without it, all columns are allowed whose weights fit into `memory`.
    """

    def __init__(
        self, rule: Rule, training: Training, n_features: int | None, memory: int, multilabel: bool = False
    ) -> None:
        self._rule, self._training, self._multilabel = rule, training, multilabel
        self._n_features, self._memory = n_features, memory
        self._most_by_blocks: dict[int, int] = {}

    def check(self, batch: Batch, n_labels: int) -> None:
        """End a batch before the first row with a column that is not allowed."""
        most = self._most_features(n_labels) if self._n_features is None else self._n_features
        if batch.highest < most:
            return
        row, index = batch.first_row_from(most)
        batch.end_with(DataError(self.refusal(index, n_labels)), batch.place_of(row))

    def allows(self, index: int, n_labels: int) -> bool:
        """Whether a model may have a column with this index."""
        return index < (self._most_features(n_labels) if self._n_features is None else self._n_features)

    def refusal(self, index: int, n_labels: int) -> str:
        """Why an index is not allowed."""
        if self._n_features is None:
            what = f"needs {self._too_large(index + 1, n_labels)}, and `n_features` above the largest index takes all"
        else:
            most = self._n_features
            what = f"is not below the number of features, {most}: `n_features` must be larger than the largest index"
        return f"index {index} {what}"

    def check_total(self, n_features: int, n_labels: int, path: str | None, hash_bits: int = 0) -> None:
        """Refuse the weights of so many columns for so many labels.

        `hash_bits` allows the columns, and so the weights of two labels; it is the data that bring more.
        """
        if (
            (hash_bits and blocks_of(n_labels, self._multilabel) == 1)
            or self._n_features is not None
            or self._bytes(n_features, blocks_of(n_labels, self._multilabel)) <= self._memory
        ):
            return
        what = f"{n_features:,} features need {self._too_large(n_features, n_labels)}"
        raise DataError(f"{what} (it is {hash_bits})" if hash_bits else f"{what}, and `n_features` takes all", path)

    def _most_features(self, n_labels: int) -> int:
        """The number of columns whose weights fit into memory; it changes only with the number of labels."""
        blocks = blocks_of(n_labels, self._multilabel)
        if blocks not in self._most_by_blocks:
            self._most_by_blocks[blocks] = _largest_below(self._memory, lambda n: self._bytes(n, blocks))
        return self._most_by_blocks[blocks]

    def _bytes(self, n_features: int, blocks: int) -> int:
        return state_bytes(self._rule, self._training, blocks, n_features)

    def _too_large(self, n_features: int, n_labels: int) -> str:
        size = self._bytes(n_features, blocks_of(n_labels, self._multilabel))
        labels = (
            ""
            if self._rule.task == "regression"
            else f" of {n_labels if self._multilabel else max(2, n_labels):,} labels"
        )
        full = self._rule.covariance == "full"
        cheaper = "`covariance='diagonal'` and `hash_bits` need less" if full else "`hash_bits` needs less"
        return f"{size:,} bytes for the weights{labels}, more than the {self._memory:,} allowed (`memory`): {cheaper}"


def _largest_below(limit: int, size: Callable[[int], int]) -> int:
    """The largest n with size(n) <= limit, for a size that grows with n; 0 if there is none."""
    low, high = 0, 1
    while size(high) <= limit:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if size(middle) <= limit:
            low = middle
        else:
            high = middle
    return low
