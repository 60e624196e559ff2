"""Progress bars on a terminal."""

from __future__ import annotations

import re
import sys
import time

import pytest

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
