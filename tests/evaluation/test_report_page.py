"""The page of a comparison: it needs no other file, says what was measured, and escapes what comes from outside."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from markupsafe import Markup
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier

from cwlearn import evaluation
from cwlearn.evaluation import report_data_set
from cwlearn.evaluation.algorithms import CANDIDATES
from cwlearn.evaluation.data_sets import TrainingRows
from cwlearn.evaluation.report_page import page
from cwlearn.evaluation.report_ranking import ranking_of
from tests.evaluation.cases import FEW
from tests.text_cases import not_with_sanitizers


class Page(HTMLParser):
    """Collects tags that do not close, everything that would be loaded from elsewhere, scripts and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.loaded, self.scripts, self.texts = [], [], 0, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        self.loaded += [
            value for name, value in attributes if name in ("src", "href") and not value.startswith("data:")
        ]
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def words_of(text):
    """The text of a page whose tags all close, and which loads nothing and has no scripts."""
    parsed = Page(text)
    assert not parsed.open
    assert not parsed.loaded
    assert not parsed.scripts
    return " ".join(parsed.texts)


@pytest.fixture(scope="module")
def several(data):
    cells, iris = load_breast_cancer(return_X_y=True), load_iris(return_X_y=True)
    data_sets = {"words <&>": data, "cells": cells, "iris": iris}
    return evaluation.compare(
        data_sets, algorithms=["cw", "arow", "perceptron", "naive-bayes", "lda"], folds=3, epochs=3, noise=[0.0, 0.1]
    )


def test_the_page_needs_no_other_file_and_says_what_was_measured(several):
    text = page(several)
    assert "http" not in text
    words = words_of(text)
    for candidate in several.candidates:
        assert candidate.title in words
    assert "words <&>" in words
    assert text.count("<svg") >= 3 * 2 * 3
    for title in ("Ranking", "Test error after each epoch", "Progressive error", "Are the probabilities right?"):
        assert title in words
    best = several.candidates[several.ranking(0.0)[0]]
    decimals = several.decimals("cells", 0.0)
    assert f"{100 * several.error('cells', 0.0, best.name):.{decimals}f}" in words


def test_the_section_of_a_data_set_has_its_numbers_and_charts_of_the_best(several, monkeypatch):
    monkeypatch.setattr(report_data_set, "COLORS", 2)
    data_set = several.data_sets[1]
    section = report_data_set.section_of(several, data_set, 0.0)
    assert (section.name, section.n_rows, section.n_labels, section.n_grey) == ("cells", 569, 2, 3)
    assert section.mean_row_length == pytest.approx(data_set.X.nnz / 569)
    assert section.test_error.title == "Test error after each epoch"
    assert section.reliability.title == "Reliability"
    assert section.reliability_before.title == "Reliability before calibration"
    best = {line.name for line in section.test_error.lines if line.color is not None}
    assert len(best) == 2
    assert {line.name for line in section.reliability.lines} <= best
    for row in section.pairs:
        assert [text == "" for text in row.p_values].count(True) == 1


def test_bold_are_those_that_do_not_clearly_differ_from_the_best(several):
    for noise in several.noises:
        ranking = ranking_of(several, noise)
        best, *others = [several.candidates[index] for index in several.ranking(noise)]
        for candidate, row in zip([best, *others], ranking.rows, strict=True):
            for data_set, cell in zip(several.data_sets, row.cells, strict=True):
                if not cell.excluded:
                    p = several.corrected_p_value(data_set.name, noise, best.name, candidate.name)
                    assert cell.is_level == (not p < 0.05)
                    assert 0 <= cell.left <= cell.dot <= cell.right <= 100


def test_the_title_says_what_was_found(comparison, several):
    best = comparison.candidates[comparison.ranking(0.0)[0]].title
    assert f"<h1>{best} makes the fewest mistakes on data</h1>" in page(comparison)
    assert re.search("<h1>(5 classifiers|.* comes first) on 3 data sets", page(several))


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(comparison):
    shown = comparison._repr_html_()
    assert shown.count("<") == 2  # of the frame: all else is escaped
    assert unescape(re.search('srcdoc="([^"]*)"', shown)[1]) == page(comparison)


def test_the_same_seed_gives_the_same_page(data):
    comparisons = [evaluation.compare(*data, algorithms=FEW, folds=4, epochs=3) for _ in range(2)]
    for comparison in comparisons:
        for outcome in comparison.outcomes.values():
            outcome.seconds = 0.5
    assert page(comparisons[0]) == page(comparisons[1])


def test_a_lead_on_some_data_sets_only_is_not_called_clear():
    rng = np.random.default_rng(0)
    X = np.c_[np.ones(300), rng.standard_normal(300)]
    y = X[:, 1] > 0
    data_sets = {"a": (X, y), "b": (X, y), "c": (X[:, ::-1] * [1, 1], rng.random(300) < 0.9)}
    good, bad = DummyClassifier(strategy="uniform", random_state=0), DummyClassifier(strategy="most_frequent")
    comparison = evaluation.compare(data_sets, algorithms={"good": good, "bad": bad, "cw": "cw"}, folds=3, epochs=2)
    best = comparison.candidates[comparison.ranking(0.0)[0]]
    clearly_worse = [
        other.name
        for other in comparison.candidates
        if other is not best
        and all(
            comparison.corrected_p_value(name, 0.0, best.name, other.name) < 0.05
            and comparison.error(name, 0.0, best.name) < comparison.error(name, 0.0, other.name)
            for name in data_sets
        )
    ]
    verdict = re.search(r"clearly better than (\d) of the 2 others", page(comparison))
    assert (int(verdict[1]) if verdict else 0) == len(clearly_worse)


@pytest.mark.parametrize("string", [str, Markup])
def test_text_from_outside_cannot_become_markup(data, string):
    """A string that calls itself safe markup is escaped like all others."""
    X, _ = data
    attack = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>"
    y = np.where(np.arange(200) % 3, attack, '"><b>')
    names = [string(f"{attack}{column}\0\x1b\u202e") for column in range(40)]
    algorithms = {string(f"cw {attack}"): "cw", string(f"{attack}\0"): "arow", "guess": DummyClassifier()}
    comparison = evaluation.compare(
        {string(f"data {attack}"): (X, y), string("<i>&\udc80"): (X, np.arange(200) % 3)},
        algorithms=algorithms,
        folds=3,
        epochs=1,
        feature_names=names,
    )
    comparison.excluded["<i>&\udc80", "guess"] = string(attack)
    text = page(comparison)
    assert "<img" not in text
    assert "<i>" not in text
    assert text.replace("\n", "").isprintable()
    words = words_of(text)
    assert f"cw {attack}" in words
    assert any(rf"{attack}{column}\x00\x1b\u202e" in words for column in range(40))


def test_a_page_holds_names_with_invisible_joiners(data):
    """Words of some scripts are spelt with them."""
    name = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert name in page(evaluation.compare({name: data}, algorithms=["perceptron"], folds=2, epochs=1))


def test_jinja_is_loaded_only_when_a_page_is_written():
    code = "import sys, cwlearn.cli.compare; from cwlearn import evaluation; print('jinja2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_weights_on_the_page_are_those_of_the_model(data):
    comparison = evaluation.compare(*data, algorithms=["cw"], folds=3, epochs=2)
    setting, epochs = comparison.usual_setting("data", 0.0, "cw")
    data_set = comparison.data_sets[0]
    weights = comparison.heaviest_weights("data", 0.0, "cw", 5)
    training_rows = TrainingRows(data_set, data_set.y, np.arange(200))
    fitted = CANDIDATES["cw"].prepare(setting, training_rows, comparison.trial_settings.seed_of(0, True))
    for _ in range(epochs):
        fitted.fit_epoch()
    means, deviations = fitted.weights()
    assert [weight.feature for weight in weights] == np.argsort(-np.abs(means[:, 0]), kind="stable")[:5].tolist()
    assert [weight.deviation for weight in weights] == [deviations[weight.feature, 0] for weight in weights]
    text = page(comparison)
    positions = [text.index(f"<title>{weight.feature}: {weight.mean:.4g} ± ") for weight in weights]
    assert all(first < second for first, second in pairwise(positions))


def test_points_of_the_curves_are_inside_the_charts(several):
    charts = list(re.finditer(r'viewBox="0 0 (\d+) (\d+)"(.*?)</svg>', page(several), re.DOTALL))
    assert charts
    for match in charts:
        width, height = int(match[1]), int(match[2])
        for x, y in re.findall(r'cx="([-\d.]+)" cy="([-\d.]+)"', match[3]):
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height


BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


@not_with_sanitizers
@pytest.mark.skipif(BROWSER is None, reason="needs chromium")
@pytest.mark.parametrize("size", ["1200,900", "390,844"])
def test_a_browser_shows_the_page_without_a_warning(several, tmp_path, size):
    path = tmp_path / "page.html"
    path.write_text(page(several), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    flags += ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    flags += ["--enable-logging=stderr", "--v=0", f"--window-size={size}", f"--screenshot={tmp_path / 'page.png'}"]
    shown = subprocess.run([BROWSER, *flags, path.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in shown.stderr
    assert (tmp_path / "page.png").stat().st_size > 10_000
    flags[-1] = "--dump-dom"
    shown = subprocess.run([BROWSER, *flags, path.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in shown.stderr
    assert shown.stdout.count("<svg") == path.read_text(encoding="utf-8").count("<svg")
