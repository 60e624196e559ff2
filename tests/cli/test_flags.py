"""Flags made from options, and messages of the library in the words of the command line."""

from __future__ import annotations

import argparse
import re
import warnings

import numpy as np
import pytest

from cwlearn.cli.flags import _size_text, checked, flag, rendered, written
from cwlearn.cli.parser import VERBS, parser_of
from cwlearn.core.parameters import COUNT, NOTHING, SIZE, one_of
from cwlearn.core.text_options import TextOptions
from cwlearn.errors import DataError, UsageError
from tests.text_cases import cwlearn, fail

NOT_OPTIONS = {
    "data", "debug", "help", "help_all", "json", "margin", "model", "models", "output", "proba", "quiet",
    "std", "topic", "verbose",
}  # fmt: skip
# What stands for a value: a word in capitals, or all values that there are.
VALUES = {
    *("A,B,...", "ADDRESS", "ALGORITHM", "C", "DATA", "FIELD", "FIELD,...", "FILE", "FILE.html", "K", "KIND"),
    *("LOW,HIGH", "MINUTES", "MODEL", "N", "NAME", "NAME=V1,V2,...", "NEW", "OLD", "OUT", "SECONDS", "SIZE", "TASK"),
    *("TOPIC", "X", "X,Y,..."),
}
NUMBERS = {"K", "MINUTES", "N", "SECONDS", "SIZE", "X", "X,Y,..."}


@pytest.mark.parametrize("verb", VERBS)
def test_every_flag_says_what_it_is_for_and_what_it_takes(verb):
    for action in parser_of(verb)._actions:
        assert action.help
        if action.nargs == 0:
            assert action.metavar is None
            continue
        assert isinstance(action, argparse.BooleanOptionalAction) or action.metavar in VALUES or "|" in action.metavar
        if action.metavar in NUMBERS:
            with pytest.raises((ValueError, argparse.ArgumentTypeError)):
                action.type("word")
        said = re.search(r"[Dd]efault: (\d+(?:\.\d+)?)\b", action.help)
        if action.default not in (None, argparse.SUPPRESS) and action.metavar in NUMBERS - {"X,Y,..."} and said:
            assert float(said[1]) == action.default


def test_parameters_of_estimators_that_a_command_has_other_words_for_are_no_flags():
    for verb in VERBS:
        names = {name for action in parser_of(verb)._actions for name in action.option_strings}
        assert not names & {"--warm-start", "--random-state", "--n-features", "--max-memory", "--n-jobs"}
    train = parser_of("train")
    assert sum("--shuffle" in action.option_strings for action in train._actions) == 1
    assert "except with one epoch" in " ".join(train.format_help(everything=True).split())


def test_short_flags_mean_the_same_for_every_verb():
    short = {
        (name, action.dest)
        for verb in VERBS
        for action in parser_of(verb)._actions
        for name in action.option_strings
        if not name.startswith("--")
    }
    assert short == {
        ("-a", "algorithm"), ("-h", "help"), ("-m", "model"), ("-n", "questions"), ("-o", "output"),
        ("-q", "quiet"), ("-v", "verbose"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("size", "text"), [(1 << 30, "1G"), (3 << 20, "3M"), (2 << 10, "2K"), (1500, "1500"), (1, "1")]
)
def test_sizes_in_help_texts_are_as_short_as_they_can_be_typed(size, text):
    assert _size_text(size) == text
    assert checked(SIZE)(text) == size


@pytest.mark.parametrize(
    ("value", "name", "text"),
    [
        (None, "", "none"), (None, "n_constraints", "all"), (True, "", "yes"), (False, "", "no"),
        ((1, 2), "ngram_range", "1,2"), (0.25, "", "0.25"), (3, "", "3"), ("kl", "", "kl"),
    ],
)  # fmt: skip
def test_values_are_written_as_they_are_typed(value, name, text):
    assert written(value, name) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`n_features` must be larger", "--features must be larger"),
        ("`random_state`, not `hash_bits`", "--seed, not --hash-bits"),
        ("more bad lines than `max_bad`", "more bad lines than --max-bad"),
        ("`C` and `a`", "--C and --a"),
        ("only with `form='variance'`", "only with --form variance"),
        ('only with `form="variance"`', "only with --form variance"),
        ("`shuffle=False` or `average=True`", "--no-shuffle or --average"),
        ("`C=None`", "--C none"),
        ("`max_memory=3M` allows it", "--memory 3M allows it"),
        ("see `cwlearn merge` and `fit`", "see `cwlearn merge` and `fit`"),
        ("a label `epochs", "a label `epochs"),
        ("no option: n_features", "no option: n_features"),
        ("", ""),
    ],
)
def test_options_in_backticks_become_flags_and_other_words_stay(text, expected):
    assert rendered(text) == expected


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_of_a_verb_is_rendered_as_its_flag(verb):
    options = {action.dest: action.option_strings for action in parser_of(verb)._actions if action.option_strings}
    for name in options.keys() - NOT_OPTIONS:
        assert flag(name) in options[name]
        assert rendered(f"`{name}`") == flag(name)


@pytest.mark.parametrize("error", [ValueError, DataError, UsageError, MemoryError, OSError, ImportError])
def test_errors_of_every_kind_name_flags(error, model, monkeypatch):
    def run(arguments):
        raise error("`n_features` is too small: `hash_bits` needs less")

    monkeypatch.setattr("cwlearn.cli.inspect.run", run)
    message = fail("inspect", model, status=2 if error is UsageError else 1)
    assert "--features is too small: --hash-bits needs less" in message


@pytest.mark.filterwarnings("always")
def test_warnings_name_flags(model, monkeypatch):
    monkeypatch.setattr("cwlearn.cli.inspect.run", lambda arguments: warnings.warn("`max_bad` reached", stacklevel=1))
    assert cwlearn("inspect", model).err == "cwlearn: warning: --max-bad reached\n"


def test_alternatives_that_two_checks_share_stand_once_in_their_words_and_form():
    both = (COUNT | one_of("auto")) | (one_of("auto") | NOTHING)
    assert (both.words, both.form) == ("a positive integer or 'auto' or None", "N|auto|none")
    assert [both.read(text) for text in ("3", "auto", "none")] == [3, "auto", None]


def test_options_of_texts_are_tuples_of_integers_however_they_were_given():
    options = TextOptions(ngram_range=[np.int64(1), 3], fields=["a"], stop_words=["the"])
    assert (options.ngram_range, options.fields, options.stop_words) == ((1, 3), ("a",), ("the",))
    assert [type(number) for number in options.ngram_range] == [int, int]
    assert options == TextOptions(ngram_range=(1, 3), fields=("a",), stop_words=("the",))
