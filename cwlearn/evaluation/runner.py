"""Runs the trials of a comparison in threads: learning holds no GIL, and threads share the data."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace

from cwlearn.errors import DataError
from cwlearn.evaluation.comparison import Comparison, Task
from cwlearn.evaluation.journal import Journal
from cwlearn.evaluation.threads import limit_openmp, one_core_each
from cwlearn.evaluation.trials import Key, Outcome, SettingResult, TrialSettings, choose_setting, run_trial
from cwlearn.utils.machine import usable_cores
from cwlearn.utils.progress import ProgressBar


class TrialMonitor:
    """Base of objects that follow a comparison.  Its methods do nothing."""

    def started(self, n_trials: int) -> None:
        """A comparison has started.  Trials that the journal holds are counted as well."""

    def trial_started(self, description: str) -> None:
        """A trial has started, in the thread that calls this."""

    def trial_ended(self, outcome: Outcome) -> None:
        """A trial has ended, now or in the run that wrote the journal."""


class TrialBar(TrialMonitor):
    """Shows the trials on a progress bar."""

    def __init__(self, bar: ProgressBar) -> None:
        self.bar, self.n_trials, self.n_ended = bar, 0, 0

    def started(self, n_trials: int) -> None:
        self.n_trials = n_trials
        self.bar.begin("comparing", n_trials, " trials")

    def trial_started(self, description: str) -> None:
        self.bar.advance(0, now=description)

    def trial_ended(self, outcome: Outcome) -> None:
        self.n_ended += 1
        self.bar.advance(1)


def run_trials(
    comparison: Comparison,
    workers: int | None = None,
    journal: Journal | None = None,
    monitor: TrialMonitor | None = None,
) -> dict[Key, Outcome]:
    """The outcomes of all trials, sorted by key.  Trials that the journal holds are not run again."""
    monitor = monitor or TrialMonitor()
    tasks = comparison.tasks()
    monitor.started(len(tasks))
    outcomes = {} if journal is None else dict(journal.done)
    for outcome in outcomes.values():
        monitor.trial_ended(outcome)
    stop = threading.Event()
    trials = _Trials(replace(comparison.trial_settings, stop=stop), monitor)
    pool = ThreadPoolExecutor(workers or usable_cores(), initializer=limit_openmp)
    with one_core_each():
        try:
            numbers = {
                pool.submit(trials.run, task): number
                for number, (key, task) in enumerate(tasks.items())
                if key not in outcomes
            }
            waiting = set(numbers)
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=numbers.__getitem__):  # raise the first of several errors
                    outcome = future.result()
                    outcomes[outcome.key] = outcome
                    if journal is not None:
                        journal.add(outcome)
                    monitor.trial_ended(outcome)
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
    return {key: outcomes[key] for key in sorted(outcomes)}


class _Trials:
    """Runs single trials.  With `tuned_once`, trials of other folds wait for the setting of the first one."""

    def __init__(self, trial_settings: TrialSettings, monitor: TrialMonitor) -> None:
        self._trial_settings = trial_settings
        self._monitor = monitor
        self._lock = threading.Lock()
        self._choices: dict[tuple[str, float, str], Future[SettingResult]] = {}

    def run(self, task: Task) -> Outcome:
        """Run a trial; errors name it."""
        description = _description(task)
        self._monitor.trial_started(description)
        try:
            choice = self._first_choice(task) if self._trial_settings.tuned_once else None
            return run_trial(*task, self._trial_settings, choice)
        except DataError as error:
            row = "" if error.row is None else f"row {task.data_set.original_rows[error.row]}: "
            raise DataError(f"{description}: {row}{error.what}") from None
        except Exception as error:
            raise DataError(f"{description}: {type(error).__name__}: {error}") from error

    def _first_choice(self, task: Task) -> SettingResult:
        """The setting that is best in the first fold.  The first trial that asks finds it; others wait for it."""
        candidate, data_set, noise, _ = task
        key = data_set.name, noise, candidate.name
        with self._lock:
            is_first = key not in self._choices
            future = self._choices.setdefault(key, Future())
        if is_first:
            try:
                labels = data_set.noisy_labels(noise, self._trial_settings.seed)
                future.set_result(choose_setting(candidate, data_set, labels, 0, self._trial_settings))
            except BaseException as error:
                future.set_exception(error)
        return future.result()


def _description(task: Task) -> str:
    noise = f", noise {task.noise:g}" if task.noise else ""
    return f"{task.data_set.name}{noise}: {task.candidate.name}, fold {task.fold + 1} of {task.data_set.n_folds}"
