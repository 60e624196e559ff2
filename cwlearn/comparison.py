"""All trials of a comparison, on all cores, with a journal; and what they say together."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn._version import __version__
from cwlearn.contestants import Contestant, quietly
from cwlearn.errors import DataError
from cwlearn.machine import usable_cores
from cwlearn.problems import Problem
from cwlearn.significance import mcnemar, ranks
from cwlearn.trials import Outcome, Terms, Tried, chosen, trial

Key = tuple[str, float, str, int]  # problem, noise, contestant, fold


class Journal:
    """A file in which a line is written for every trial that is done, so that a run that ends early can go on.

    Its first line says what it is a journal of; one of anything else is refused, not overwritten."""

    def __init__(self, path: str | os.PathLike[str], about: dict[str, Any]) -> None:
        self.done: dict[Key, Outcome] = {}
        about = json.loads(json.dumps({"cwlearn": __version__, **about}))
        lines = _whole_lines(path)
        if lines:
            self._take(path, lines, about)
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115  closed by `close`
        if lines:
            self._file.truncate(sum(len(line) for line in lines))  # what was half written when the run ended
        else:
            self._file.truncate(0)
            self._write(about)

    def _take(self, path: str | os.PathLike[str], lines: list[bytes], about: dict[str, Any]) -> None:
        try:
            found, *outcomes = (json.loads(line) for line in lines)
            self.done = {_key(outcome): outcome for outcome in (Outcome(**entry) for entry in outcomes)}
        except (ValueError, TypeError) as error:
            raise DataError(f"not the journal of a comparison: {error}", path) from None
        if found != about:
            differing = [name for name in about if not isinstance(found, dict) or found.get(name) != about[name]]
            raise DataError(
                f"the journal of another comparison: it differs in {', '.join(differing) or 'what it has more'}; "
                f"delete it to begin anew",
                path,
            )

    def add(self, outcome: Outcome) -> None:
        self._write(outcome.as_dict())

    def _write(self, entry: dict[str, Any]) -> None:
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _whole_lines(path: str | os.PathLike[str]) -> list[bytes]:
    try:
        with open(path, "rb") as file:
            return [line for line in file if line.endswith(b"\n")]
    except FileNotFoundError:
        return []


def _key(outcome: Outcome) -> Key:
    return outcome.problem, outcome.noise, outcome.contestant, outcome.fold


@dataclass
class Comparison:
    """What a comparison has found."""

    problems: list[Problem]
    contestants: list[Contestant]
    noises: list[float]
    terms: Terms
    outcomes: dict[Key, Outcome] = field(default_factory=dict)
    refusals: dict[tuple[str, str], str] = field(
        default_factory=dict
    )  # by problem and contestant, who cannot take part

    def of(self, problem: str, noise: float, contestant: str) -> list[Outcome]:
        """The outcomes of all folds."""
        folds = next(one.folds for one in self.problems if one.name == problem)
        keys = [(problem, noise, contestant, fold) for fold in range(folds)]
        return [self.outcomes[key] for key in keys if key in self.outcomes]

    def error(self, problem: str, noise: float, contestant: str) -> float:
        """The mean test error over the folds; NaN if it did not take part."""
        found = self.of(problem, noise, contestant)
        return float(np.mean([one.error for one in found])) if found else np.nan

    def errors(self, noise: float) -> NDArray[np.float64]:
        """Mean errors, a row for each problem and a column for each contestant."""
        return np.array(
            [[self.error(problem.name, noise, one.name) for one in self.contestants] for problem in self.problems]
        )

    def mean_ranks(self, noise: float) -> NDArray[np.float64]:
        """The mean rank of each contestant over the problems that it took part in."""
        table = np.array([ranks(row) for row in self.errors(noise)])
        counts = np.sum(~np.isnan(table), axis=0)
        return np.where(counts, np.nansum(table, axis=0) / np.maximum(1, counts), np.nan)

    def order(self, noise: float) -> list[int]:
        """Numbers of the contestants, from the best mean rank to the worst; of equal ones, that of the lower mean error
        is the better."""
        mean_ranks, errors = self.mean_ranks(noise), self.errors(noise)
        means = [np.nanmean(column) if (~np.isnan(column)).any() else np.inf for column in errors.T]
        return sorted(range(len(self.contestants)), key=lambda j: (np.nan_to_num(mean_ranks[j], nan=np.inf), means[j]))

    def wrong(self, problem: str, noise: float, contestant: str) -> set[int]:
        """The rows that were predicted wrongly when they were tested."""
        return {row for outcome in self.of(problem, noise, contestant) for row in outcome.wrong}

    def p_value(self, problem: str, noise: float, one: str, other: str) -> float:
        """McNemar's exact test between two contestants, on the test rows of all folds; NaN if one did not take part."""
        if not (self.of(problem, noise, one) and self.of(problem, noise, other)):
            return np.nan
        ours, theirs = self.wrong(problem, noise, one), self.wrong(problem, noise, other)
        return mcnemar(len(ours - theirs), len(theirs - ours))

    def setting(self, problem: str, noise: float, contestant: str) -> tuple[dict[str, Any], int]:
        """What was chosen most often, and by the fold that comes first of equally frequent ones."""
        found = self.of(problem, noise, contestant)
        counts = Counter(json.dumps([one.setting, one.epochs]) for one in found)
        setting, epochs = json.loads(counts.most_common(1)[0][0])
        return setting, epochs


class Watch:
    """Hears how a comparison goes; this one keeps silent."""

    def begins(self, what: str) -> None:
        """A trial begins: problem, contestant and fold."""

    def ends(self, outcome: Outcome) -> None:
        """A trial is done, now or in the journal."""


def run(
    comparison: Comparison, workers: int | None = None, journal: Journal | None = None, watch: Watch | None = None
) -> Comparison:
    """Do all trials that the journal does not have, in threads: learning holds no GIL, and threads share the data."""
    watch = watch or Watch()
    terms = replace(comparison.terms, stop=threading.Event())
    outcomes: dict[Key, Outcome] = dict(journal.done) if journal is not None else {}
    for outcome in outcomes.values():
        watch.ends(outcome)
    tunings = _Tunings(terms)
    pool = ThreadPoolExecutor(workers or usable_cores())

    def do(contestant: Contestant, problem: Problem, noise: float, fold: int) -> Outcome:
        noise_text = f", noise {noise:g}" if noise else ""
        watch.begins(f"{problem.name}{noise_text}: {contestant.name}, fold {fold + 1} of {problem.folds}")
        known = tunings.of(contestant, problem, noise) if terms.tuned_once else None
        return trial(contestant, problem, noise, fold, terms, known)

    try:
        with quietly():
            waiting = {pool.submit(do, *task) for key, task in _tasks(comparison) if key not in outcomes}
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    outcome = future.result()
                    outcomes[_key(outcome)] = outcome
                    if journal is not None:
                        journal.add(outcome)
                    watch.ends(outcome)
    finally:
        terms.stop.set()
        pool.shutdown(cancel_futures=True)
    comparison.outcomes = {key: outcomes[key] for key in sorted(outcomes)}
    return comparison


def _tasks(comparison: Comparison) -> Iterator[tuple[Key, tuple[Contestant, Problem, float, int]]]:
    for problem in comparison.problems:
        for noise in comparison.noises:
            for contestant in comparison.contestants:
                if (problem.name, contestant.name) not in comparison.refusals:
                    for fold in range(problem.folds):
                        yield (problem.name, noise, contestant.name, fold), (contestant, problem, noise, fold)


def count(comparison: Comparison) -> int:
    """How many trials there are."""
    return sum(1 for _ in _tasks(comparison))


class _Tunings:
    """What was chosen in the first fold, for all of them; whoever asks first finds it out, and others wait."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._lock = threading.Lock()
        self._found: dict[tuple[str, float, str], Future[Tried]] = {}

    def of(self, contestant: Contestant, problem: Problem, noise: float) -> Tried:
        key = problem.name, noise, contestant.name
        with self._lock:
            mine = key not in self._found
            future = self._found.setdefault(key, Future())
        if mine:
            try:
                labels = problem.noisy(noise, self._terms.seed) if noise else problem.y
                future.set_result(chosen(contestant, problem, labels, 0, self._terms))
            except BaseException as error:
                future.set_exception(error)
        return future.result()


def compared(
    problems: Sequence[Problem], contestants: Sequence[Contestant], noises: Sequence[float], terms: Terms
) -> Comparison:
    """A comparison that is still to be run."""
    refusals = {
        (problem.name, one.name): why for problem in problems for one in contestants if (why := one.refuses(problem))
    }
    return Comparison(list(problems), list(contestants), list(noises), terms, refusals=refusals)


def about(comparison: Comparison) -> dict[str, Any]:
    """What makes a comparison this one, for its journal."""
    return {
        "data": {problem.name: problem.fingerprint for problem in comparison.problems},
        "algorithms": {one.name: repr(one.settings) for one in comparison.contestants},
        "noise": comparison.noises,
        "folds": [problem.folds for problem in comparison.problems],
        "epochs": comparison.terms.epochs,
        "seed": comparison.terms.seed,
        "tuned_once": comparison.terms.tuned_once,
    }
