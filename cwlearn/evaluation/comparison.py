"""All trials of a comparison, on all cores, with a journal; and what they say together."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn._version import __version__
from cwlearn.core.metrics import BINS
from cwlearn.core.parameters import is_integer, is_number
from cwlearn.errors import DataError, listed
from cwlearn.evaluation.candidates import Candidate, alone, side_by_side
from cwlearn.evaluation.data_sets import DataSet
from cwlearn.evaluation.significance import holm, mcnemar, ranks
from cwlearn.evaluation.trials import Outcome, TrialSettings, Tried, chosen, trial
from cwlearn.utils.machine import usable_cores
from cwlearn.utils.regular_file import open_regular

Key = tuple[str, float, str, int]  # data_set, noise, candidate, fold
Task = tuple[Candidate, DataSet, float, int]  # the same, as a trial takes them
LINE_BYTES, ROW_BYTES = 1 << 20, 32  # of a line of a journal, at most, and for each row that it names


class Journal:
    """A file in which a line is written for every trial that is done, so that a run that ends early can go on.

    Its first line says what it is a journal of; one of anything else is refused, not overwritten, and so is one with a
    line that cannot be the outcome of a trial of this comparison."""

    def __init__(self, path: str | os.PathLike[str], comparison: Comparison) -> None:
        self.done: dict[Key, Outcome] = {}
        known = json.loads(json.dumps(about(comparison)))
        first = _line(known)
        found = _read(path)
        whole = found[: found.rfind(b"\n") + 1]  # the last line may be half written
        if whole:
            self._take(path, whole.split(b"\n")[:-1], known, comparison)
        elif not first.startswith(found):
            raise DataError("not the journal of a comparison", path)
        self._file = open(path, "r+b" if found else "wb")  # noqa: SIM115  closed by `close`
        self._file.truncate(len(whole))
        self._file.seek(len(whole))
        if not whole:
            self._write(first)

    def _take(
        self, path: str | os.PathLike[str], lines: list[bytes], known: dict[str, Any], comparison: Comparison
    ) -> None:
        longest = LINE_BYTES + ROW_BYTES * max(len(data_set.y) for data_set in comparison.data_sets)
        trials = dict(_tasks(comparison))
        for number, line in enumerate(lines, 1):
            try:
                if len(line) > longest + len(_line(known)):
                    raise ValueError(f"a line of {len(line):,} bytes")
                entry = json.loads(line)
                if number > 1:
                    outcome = _outcome(entry, trials, comparison.trial_settings)
                    self.done[_key(outcome)] = outcome
            except (ValueError, TypeError, RecursionError) as error:
                raise DataError(f"not the journal of a comparison: {error}", path, number) from None
            if number == 1 and entry != known:
                differing = [name for name in known if not isinstance(entry, dict) or entry.get(name) != known[name]]
                raise DataError(
                    f"the journal of another comparison: it differs in {', '.join(differing) or 'what it has more'}; "
                    f"delete it to begin anew",
                    path,
                )

    def add(self, outcome: Outcome) -> None:
        self._write(_line(outcome.as_dict()))

    def _write(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        with open_regular(path, lambda what: DataError(what, path)) as file:
            return file.read()
    except FileNotFoundError:
        return b""


def _outcome(entry: Any, trials: dict[Key, Task], trial_settings: TrialSettings) -> Outcome:
    """A line of a journal as the outcome of one of these trials; ValueError, or TypeError, says what it cannot be."""
    one = Outcome(**entry)
    if set(entry) != set(one.as_dict()) or type(one.fold) is not int or _key(one) not in trials:
        raise ValueError("an outcome of no trial of this comparison")
    candidate, data_set, _, fold = trials[_key(one)]
    rows = range(*data_set.fold(fold).indices(len(data_set.y)))
    bins = [] if one.bins is None else one.bins
    counts = [one.mistakes or 0, one.updates or 0, *(count for pair in one.progress for count in pair)]
    sound = {
        "form": all(isinstance(numbers, list) for numbers in (one.wrong, one.by_epoch, one.progress, bins)),
        "rows": type(one.rows) is int and one.rows == len(rows),
        "setting": one.setting in json.loads(json.dumps(candidate.settings)),
        "by_epoch": len(one.by_epoch) == (trial_settings.epochs if candidate.online else 1)
        and all(is_number(error) and 0 <= error <= 1 for error in one.by_epoch),
        "epochs": is_integer(one.epochs) and 0 < one.epochs <= len(one.by_epoch),
        "wrong": all(type(row) is int and row in rows for row in one.wrong) and _rise(one.wrong),
        "progress": all(len(pair) == 2 for pair in one.progress) and _rise([pair[0] for pair in one.progress]),
        "counts": all(type(count) is int and 0 <= count < 2**53 for count in counts),
        "seconds": is_number(one.seconds) and one.seconds >= 0,
        "bins": len(bins) in (0, BINS)
        and all(len(line) == 3 and all(is_number(part) and part >= 0 for part in line) for line in bins),
    }
    for name, fine in sound.items():
        if not fine:
            raise ValueError(f"the {name} of {one.candidate} in fold {fold + 1} cannot be what came of a trial")
    return one


def _rise(numbers: list[int]) -> bool:
    return all(one < other for one, other in pairwise(numbers))


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry).encode() + b"\n"


def _key(outcome: Outcome) -> Key:
    return outcome.data_set, outcome.noise, outcome.candidate, outcome.fold


@dataclass(frozen=True)
class Weight:
    """Of a feature, for the label of this number (with two labels, 0: against the first, for the second)."""

    feature: int
    label: int
    mean: float
    deviation: float | None


@dataclass
class Comparison:
    """What a comparison has found."""

    data_sets: list[DataSet]
    candidates: list[Candidate]
    noises: list[float]
    trial_settings: TrialSettings
    outcomes: dict[Key, Outcome] = field(default_factory=dict)
    refusals: dict[tuple[str, str], str] = field(
        default_factory=dict
    )  # by data_set and candidate, who cannot take part

    def of(self, data_set: str, noise: float, candidate: str) -> list[Outcome]:
        """The outcomes of all folds."""
        known: dict[str, Sequence[Any]] = {
            data_set: [one.name for one in self.data_sets],
            candidate: [one.name for one in self.candidates],
        }
        for name, names in known.items():
            if name not in names:
                raise ValueError(f"there is no {name!r} in this comparison, but {listed(names)}")
        if noise not in self.noises:
            raise ValueError(f"noise {noise!r} is not in this comparison, but {listed(self.noises)}")
        folds = next(one.folds for one in self.data_sets if one.name == data_set)
        keys = [(data_set, noise, candidate, fold) for fold in range(folds)]
        return [self.outcomes[key] for key in keys if key in self.outcomes]

    def error(self, data_set: str, noise: float, candidate: str) -> float:
        """The mean test error over the folds; NaN if it did not take part."""
        found = self.of(data_set, noise, candidate)
        return float(np.mean([one.error for one in found])) if found else np.nan

    def errors(self, noise: float) -> NDArray[np.float64]:
        """Mean errors, a row for each data_set and a column for each candidate."""
        return np.array(
            [[self.error(data_set.name, noise, one.name) for one in self.candidates] for data_set in self.data_sets]
        )

    def mean_ranks(self, noise: float) -> NDArray[np.float64]:
        """The mean rank of each candidate over the data_sets that it took part in."""
        table = np.array([ranks(row) for row in self.errors(noise)])
        counts = np.sum(~np.isnan(table), axis=0)
        return np.where(counts, np.nansum(table, axis=0) / np.maximum(1, counts), np.nan)

    def order(self, noise: float) -> list[int]:
        """Numbers of the candidates that took part, from the best mean rank to the worst; of equal ones, that of the
        lower mean error is the better.  Who did not take part everywhere comes after those who did."""
        mean_ranks, errors = self.mean_ranks(noise), self.errors(noise)
        absent = np.isnan(errors).sum(axis=0)
        there = [j for j in range(len(self.candidates)) if absent[j] < len(self.data_sets)]
        return sorted(there, key=lambda j: (absent[j] > 0, mean_ranks[j], np.nanmean(errors[:, j])))

    def wrong(self, data_set: str, noise: float, candidate: str) -> set[int]:
        """The rows that were predicted wrongly when they were tested."""
        return {row for outcome in self.of(data_set, noise, candidate) for row in outcome.wrong}

    def p_value(self, data_set: str, noise: float, one: str, other: str) -> float:
        """McNemar's exact test between two candidates, on the test rows of all folds; NaN if one did not take part."""
        if not (self.of(data_set, noise, one) and self.of(data_set, noise, other)):
            return np.nan
        ours, theirs = self.wrong(data_set, noise, one), self.wrong(data_set, noise, other)
        return mcnemar(len(ours - theirs), len(theirs - ours))

    def corrected_p_value(self, data_set: str, noise: float, one: str, other: str) -> float:
        """The same, corrected for the number of all pairs, data sets and noises of this comparison.

        The best one is known only after the fact, so each pair counts as a test, and not only those with the best."""
        if one == other:
            return self.p_value(data_set, noise, one, other)
        return self._corrected.get((data_set, noise, frozenset([one, other])), np.nan)

    @cached_property
    def _corrected(self) -> dict[tuple[str, float, frozenset[str]], float]:
        found = {
            (data_set.name, noise, frozenset([one.name, other.name])): p
            for data_set in self.data_sets
            for noise in self.noises
            for one, other in combinations(self.candidates, 2)
            if not np.isnan(p := self.p_value(data_set.name, noise, one.name, other.name))
        }
        return dict(zip(found, holm([*found.values()]).tolist(), strict=True))

    @property
    def tests(self) -> int:
        """How many pairs were compared, on all data sets together."""
        return len(self._corrected)

    def weights(self, data_set: DataSet, noise: float, candidate: str, most: int) -> list[Weight]:
        """The heaviest weights of a candidate that learns from all rows, with the setting it chose most often."""
        one = next(one for one in self.candidates if one.name == candidate)
        setting, epochs = self.setting(data_set.name, noise, candidate)
        labels = data_set.noisy(noise, self.trial_settings.seed)
        fitted = one.fitted(
            setting, data_set, labels, np.arange(len(labels)), self.trial_settings.seed_of(0, testing=True)
        )
        with side_by_side():
            for _ in range(epochs):
                fitted.fit_epoch()
        found = fitted.weights()
        if found is None:
            return []
        mean, deviation = found
        heaviest = np.argsort(-np.abs(mean), axis=None, kind="stable")[:most].tolist()
        places = [divmod(place, mean.shape[1]) for place in heaviest]
        return [
            Weight(place[0], place[1], float(mean[place]), None if deviation is None else float(deviation[place]))
            for place in places
            if mean[place]
        ]

    def setting(self, data_set: str, noise: float, candidate: str) -> tuple[dict[str, Any], int]:
        """What was chosen most often, and by the fold that comes first of equally frequent ones."""
        found = self.of(data_set, noise, candidate)
        counts = Counter(json.dumps([one.setting, one.epochs]) for one in found)
        setting, epochs = json.loads(counts.most_common(1)[0][0])
        return setting, epochs


class TrialMonitor:
    """Hears how a comparison goes; this one keeps silent."""

    def starts(self, trials: int) -> None:
        """So many there are, some of which the journal may have."""

    def begins(self, what: str) -> None:
        """A trial begins: data_set, candidate and fold.  Called by the thread that it runs in."""

    def ends(self, outcome: Outcome) -> None:
        """A trial is done, now or in the journal."""


def run(
    comparison: Comparison,
    workers: int | None = None,
    journal: Journal | None = None,
    monitor: TrialMonitor | None = None,
) -> Comparison:
    """Do all trials that the journal does not have, in threads: learning holds no GIL, and threads share the data."""
    monitor = monitor or TrialMonitor()
    tasks = _tasks(comparison)
    monitor.starts(len(tasks))
    trial_settings = replace(comparison.trial_settings, stop=threading.Event())
    outcomes: dict[Key, Outcome] = dict(journal.done) if journal is not None else {}
    for outcome in outcomes.values():
        monitor.ends(outcome)
    tunings = _Tunings(trial_settings)
    pool = ThreadPoolExecutor(workers or usable_cores(), initializer=alone)

    def do(candidate: Candidate, data_set: DataSet, noise: float, fold: int) -> Outcome:
        noise_text = f", noise {noise:g}" if noise else ""
        what = f"{data_set.name}{noise_text}: {candidate.name}, fold {fold + 1} of {data_set.folds}"
        monitor.begins(what)
        try:
            known = tunings.of(candidate, data_set, noise) if trial_settings.tuned_once else None
            return trial(candidate, data_set, noise, fold, trial_settings, known)
        except DataError as error:
            row = "" if error.row is None else f"row {data_set.order[error.row]}: "
            raise DataError(f"{what}: {row}{error.what}") from None
        except Exception as error:
            raise DataError(f"{what}: {type(error).__name__}: {error}") from error

    with side_by_side():
        try:
            numbers = {
                pool.submit(do, *task): number for number, (key, task) in enumerate(tasks) if key not in outcomes
            }
            waiting = set(numbers)
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=numbers.__getitem__):  # so that of several errors the first is told
                    outcome = future.result()
                    outcomes[_key(outcome)] = outcome
                    if journal is not None:
                        journal.add(outcome)
                    monitor.ends(outcome)
        finally:
            trial_settings.stop.set()
            pool.shutdown(cancel_futures=True)
    comparison.outcomes = {key: outcomes[key] for key in sorted(outcomes)}
    comparison.__dict__.pop("_corrected", None)
    return comparison


def _tasks(comparison: Comparison) -> list[tuple[Key, Task]]:
    found = [
        ((data_set.name, noise, candidate.name, fold), (candidate, data_set, noise, fold))
        for data_set in comparison.data_sets
        for noise in comparison.noises
        for candidate in comparison.candidates
        if (data_set.name, candidate.name) not in comparison.refusals
        for fold in range(data_set.folds)
    ]
    if comparison.trial_settings.tuned_once:  # first folds first: the others have to wait for them
        found.sort(key=lambda task: task[0][3] > 0)
    return found


class _Tunings:
    """What was chosen in the first fold, for all of them; whoever asks first finds it out, and others wait."""

    def __init__(self, trial_settings: TrialSettings) -> None:
        self._terms = trial_settings
        self._lock = threading.Lock()
        self._found: dict[tuple[str, float, str], Future[Tried]] = {}

    def of(self, candidate: Candidate, data_set: DataSet, noise: float) -> Tried:
        key = data_set.name, noise, candidate.name
        with self._lock:
            mine = key not in self._found
            future = self._found.setdefault(key, Future())
        if mine:
            try:
                labels = data_set.noisy(noise, self._terms.seed)
                future.set_result(chosen(candidate, data_set, labels, 0, self._terms))
            except BaseException as error:
                future.set_exception(error)
        return future.result()


def compared(
    data_sets: Sequence[DataSet],
    candidates: Sequence[Candidate],
    noises: Sequence[float],
    trial_settings: TrialSettings,
) -> Comparison:
    """A comparison that is still to be run."""
    refusals = {
        (data_set.name, one.name): why for data_set in data_sets for one in candidates if (why := one.refuses(data_set))
    }
    for data_set in data_sets:
        if all((data_set.name, one.name) in refusals for one in candidates):
            reasons = "; ".join(f"{one.name} is {refusals[data_set.name, one.name]}" for one in candidates)
            raise DataError(f"{data_set.name}: nobody is left to learn these data: {reasons}")
    return Comparison(list(data_sets), list(candidates), list(noises), trial_settings, refusals=refusals)


def about(comparison: Comparison) -> dict[str, Any]:
    """What makes a comparison this one, for its journal."""
    import sklearn

    return {
        "versions": {"cwlearn": __version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__},
        "data": {data_set.name: data_set.fingerprint for data_set in comparison.data_sets},
        "algorithms": {one.name: one.identity for one in comparison.candidates},
        "noise": comparison.noises,
        "folds": [data_set.folds for data_set in comparison.data_sets],
        "epochs": comparison.trial_settings.epochs,
        "seed": comparison.trial_settings.seed,
        "tuned_once": comparison.trial_settings.tuned_once,
    }
