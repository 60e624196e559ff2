"""The page that a comparison is shown on: that it needs nothing else, says what was found, and is drawn soundly."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from cwlearn import evaluation
from cwlearn.evaluation.candidates import CANDIDATES
from cwlearn.evaluation.charts import Line, line_chart, weight_chart
from cwlearn.evaluation.report import page
from tests.cases import word_counts
from tests.text_cases import not_with_sanitizers


@pytest.fixture(scope="module")
def data():
    return word_counts()


class Page(HTMLParser):
    """Tags that do not close, and anything that would be loaded from elsewhere."""

    def __init__(self, text):
        super().__init__()
        self.open, self.loaded, self.scripts, self.words = [], [], 0, []
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
        self.words.append(data)


@pytest.fixture(scope="module")
def several(data):
    X, y = load_breast_cancer(return_X_y=True)
    digits = load_iris(return_X_y=True)
    data_sets = {"words <&>": data, "cells": (X, y), "iris": digits}
    return evaluation.compare(
        data_sets, algorithms=["cw", "arow", "perceptron", "naive-bayes", "lda"], folds=3, epochs=3, noise=[0.0, 0.1]
    )


def test_the_page_needs_nothing_else_and_says_what_was_found(several):
    text = page(several)
    parsed = Page(text)
    assert not parsed.open
    assert not parsed.loaded
    assert not parsed.scripts
    assert "http" not in text
    words = " ".join(parsed.words)
    for one in several.candidates:
        assert one.title in words
    assert "words <&>" in words
    assert text.count("<svg") >= 3 * 2 * 3
    for title in ("Ranking", "Test error after each epoch", "Progressive error", "Are its probabilities right?"):
        assert title in words
    best = several.candidates[several.order(0.0)[0]]
    assert f"{100 * several.error('cells', 0.0, best.name):.2f}%" in words


def test_words_from_outside_cannot_become_markup(data):
    X, _ = data
    y = np.where(np.arange(200) % 2, "<script>alert(1)</script>", '"><b>')
    names = [f"<img src=x onerror=alert({j})>\0" for j in range(40)]
    found = evaluation.compare({"<b>&": (X, y)}, algorithms=["cw", "arow"], folds=3, epochs=1, feature_names=names)
    text = page(found)
    parsed = Page(text)
    assert not parsed.open
    assert not parsed.loaded
    assert not parsed.scripts
    assert "\0" not in text
    assert "<img" not in text


def test_charts_leave_out_what_is_no_number():
    lines = [Line("a", [(1, 0.5), (2, float("nan")), (3, 0.25)])]
    assert line_chart("t", lines, "x", "y").count("<circle") == 2
    assert line_chart("t", [Line("a", [(1, 0.0)])], "x", "y").count("<circle") == 1
    assert line_chart("t", [], "x", "y") == ""
    assert weight_chart("t", [("a", float("inf"), 1.0), ("b", 1.0, None)]).count("<rect") == 1
    ticks = re.findall(r">([\d.,]+)</text>", line_chart("t", [Line("a", [(1, 0.5), (2, 0.4), (3, 0.3)])], "x", "y"))
    assert ticks == ["1", "2", "3"]


def test_weights_on_the_page_are_those_of_the_model(data):
    X, y = data
    found = evaluation.compare(X, y, algorithms=["cw"], folds=3, epochs=2)
    setting, epochs = found.setting("data", 0.0, "cw")
    data_set = found.data_sets[0]
    weights = found.weights(data_set, 0.0, "cw", 5)
    fitted = CANDIDATES["cw"].fitted(
        setting, data_set, data_set.y, np.arange(200), found.trial_settings.seed_of(0, True)
    )
    for _ in range(epochs):
        fitted.fit_epoch()
    mean, deviation = fitted.weights()
    assert [weight.feature for weight in weights] == np.argsort(-np.abs(mean[:, 0]), kind="stable")[:5].tolist()
    assert [weight.deviation for weight in weights] == [deviation[weight.feature, 0] for weight in weights]


def test_points_of_the_curves_stay_inside_the_picture(several):
    for match in re.finditer(r'viewBox="0 0 (\d+) (\d+)"(.*?)</svg>', page(several), re.DOTALL):
        width, height = int(match[1]), int(match[2])
        for x, y in re.findall(r'cx="([-\d.]+)" cy="([-\d.]+)"', match[3]):
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height


BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


@not_with_sanitizers
@pytest.mark.skipif(BROWSER is None, reason="no browser: install chromium to see the page through its eyes")
@pytest.mark.parametrize("size", ["1200,900", "390,844"])
def test_a_browser_shows_the_page_without_complaint(several, tmp_path, size):
    path = tmp_path / "page.html"
    path.write_text(page(several), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    flags += ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    flags += ["--enable-logging=stderr", "--v=0", f"--window-size={size}", f"--screenshot={tmp_path / 'page.png'}"]
    told = subprocess.run([BROWSER, *flags, path.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in told.stderr
    assert (tmp_path / "page.png").stat().st_size > 10_000
    flags[-1] = "--dump-dom"
    told = subprocess.run([BROWSER, *flags, path.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in told.stderr
    assert told.stdout.count("<svg") == path.read_text(encoding="utf-8").count("<svg")
