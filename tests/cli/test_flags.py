"""Flags made from options, and messages of the library in the words of the command line."""

from __future__ import annotations

import warnings

import pytest

from cwlearn.cli.flags import flag, rendered
from cwlearn.cli.parser import VERBS, parser_of
from cwlearn.errors import DataError, UsageError
from tests.text_cases import cwlearn, fail

NOT_OPTIONS = {
    "data", "debug", "help", "help_all", "json", "margin", "model", "models", "output", "proba", "quiet",
    "std", "topic", "verbose",
}  # fmt: skip


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
