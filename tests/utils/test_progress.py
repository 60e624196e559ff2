"""Progress bars on a terminal."""

from __future__ import annotations

import re
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from cwlearn import evaluation
from cwlearn.cli import main as cli
from cwlearn.utils import progress
from cwlearn.utils.progress import ProgressBar


class Terminal:
    """A stream that is a terminal."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass

    def isatty(self):
        return True


def new_terminal(monkeypatch):
    """Standard error as a terminal; not a fixture, since pytest sets the stream anew when a test begins."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", 0)
    return stream


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    assert condition()


def test_the_clock_of_a_bar_goes_on_while_nothing_moves(monkeypatch):
    terminal = new_terminal(monkeypatch)
    monkeypatch.setattr(progress, "PULSE", 0.01)
    bar = ProgressBar(quiet=False)
    bar.begin("waiting", 4, " trials")
    wait_for(lambda: terminal.text.count("waiting") > 3)
    bar.close()
    written = terminal.text
    time.sleep(0.1)
    assert terminal.text == written
    bar.begin("again", 4, " trials")
    wait_for(lambda: "again" in terminal.text)
    bar.end()


def test_few_things_are_counted_in_whole_numbers_and_facts_stay_until_others_come(monkeypatch):
    terminal = new_terminal(monkeypatch)
    bar = ProgressBar(quiet=False)
    bar.begin("comparing", 20, " trials")
    bar.advance(0, now="arow")
    terminal.text = ""
    time.sleep(0.15)  # more than the shortest time between two lines
    bar.advance(5)
    assert "5/20" in terminal.text
    assert "now=arow" in terminal.text
    bar.end()


@pytest.mark.parametrize("verb", ["tune", "compare"])
def test_trials_show_how_far_they_are(verb, text, monkeypatch, capsys):
    terminal = new_terminal(monkeypatch)
    more = ["--algorithms", "arow", "--folds", "2"] if verb == "compare" else []
    assert cli.main([verb, str(text), "--epochs", "2", *more]) == 0
    assert "reading" in terminal.text
    assert re.search(r"comparing: .*\d/2 " if verb == "compare" else r"tuning: .*\d+/16 ", terminal.text)
    terminal.text = ""
    assert cli.main([verb, str(text), "--epochs", "2", *more, "--json"]) == 0
    assert terminal.text == ""


@pytest.mark.parametrize("widgets", [False, True])
def test_a_notebook_has_bars_and_widgets_if_it_can(widgets, monkeypatch, capsys):
    assert not progress.in_notebook()
    monkeypatch.setitem(
        sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(config={"IPKernelApp": {}}))
    )
    monkeypatch.setattr(progress, "find_spec", lambda name: widgets or None)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    if widgets:
        assert progress.bar_class().__name__ == "tqdm_notebook"
        return
    bar = ProgressBar(quiet=False)
    bar.begin("learning", 10, " rows")
    bar.move_to(5)
    bar.close()
    assert "learning: " in capsys.readouterr().err


def test_tune_and_compare_have_a_bar_if_they_are_verbose(monkeypatch):
    terminal = new_terminal(monkeypatch)
    X, y = np.eye(40), [0, 1] * 20
    for verbose in (0, 1):
        evaluation.tune(X, y, "perceptron", epochs=2, verbose=verbose)
        evaluation.compare(X, y, algorithms=["perceptron", "pa"], folds=2, epochs=1, verbose=verbose)
        assert ("tuning" in terminal.text) == ("comparing" in terminal.text) == bool(verbose)


def test_a_bar_that_has_ended_is_gone_for_good(monkeypatch):
    new_terminal(monkeypatch)
    bar = ProgressBar(quiet=False)
    bar.begin("waiting", 4, " trials")
    bar.move_to(1)
    shown, closed = bar._bar, bar._closed
    bar.end()
    assert shown.disable
    assert closed.is_set()
    bar.move_to(2)
    assert bar._bar is None
