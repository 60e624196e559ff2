"""Explanations: contributions add up to the margin, and say what the model says."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from scipy import sparse

from cwlearn import AROWClassifier, AROWRegressor, KernelAROWClassifier, TextClassifier
from cwlearn.core import explanation_page
from cwlearn.core.explaining import explain, percent
from cwlearn.core.explanation_page import page
from cwlearn.core.learner import Learner
from cwlearn.core.rows import as_rows
from cwlearn.core.training import Training
from tests.cases import RULES, rule_id

TEXTS = ["Win a FREE prize now", "minutes of the budget meeting", "free cash, click now", "lunch with the team?"]


def rows(n=40, d=9, dtype="float64"):
    rng = np.random.default_rng(3)
    dense = np.where(rng.random((n, d)) < 0.5, rng.normal(size=(n, d)), 0)
    dense[0] = 0
    return as_rows(dense, np.dtype(dtype))


def learned(rule, n_labels, **options):
    training = Training(shuffle=False, **options)
    X = rows(dtype=training.dtype)
    learner = Learner(rule, training, np.arange(n_labels), X.n_features)
    learner.learn(X, learner.targets(np.arange(X.n_rows) % n_labels))
    return learner, X


@pytest.mark.parametrize("options", [{"dtype": "float64"}, {"fit_intercept": False}], ids=str)
@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_contributions_add_up_to_the_margin(rule, n_labels, options):
    learner, X = learned(rule, n_labels, **options)
    mean, variance = learner.margins(X)
    chances = learner.probabilities(X, mean, variance)
    for row in range(6):
        found = explain(learner, X.part(row, row + 1), str, top=3)
        total = found.intercept + math.fsum(item.amount for item in found.contributions)
        assert total == pytest.approx(found.margin, abs=1e-9)
        record = json.loads(json.dumps(found.record()))
        shown = math.fsum(item["contribution"] for item in record["contributions"])
        assert record["intercept"] + shown + record["others"] == pytest.approx(record["margin"], abs=1e-9)
        if n_labels == 2:
            assert found.margin == (mean[row] if found.label else -mean[row])
            assert found.deviation == (pytest.approx(math.sqrt(variance[row])) if rule.second_order else None)
        else:
            order = np.argsort(-mean[row], kind="stable")
            assert (found.label, found.rival) == tuple(order[:2])
            assert found.margin == mean[row, order[0]] - mean[row, order[1]]
        assert found.probability == pytest.approx(chances[row, found.label], abs=1e-12)
        assert 0 <= found.evidence <= 1
        if not rule.second_order:
            deviations = [found.deviation, found.intercept_deviation, *(item.deviation for item in found.contributions)]
            assert deviations == [None] * (2 + len(found.contributions))
            assert "±" not in str(found)
            assert "eviation" not in found._repr_html_()
        else:
            squares = found.intercept_deviation**2 + math.fsum(item.deviation**2 for item in found.contributions)
            assert squares == pytest.approx(found.deviation**2, abs=1e-9)


def test_a_full_covariance_and_a_regression_are_explained():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    model = AROWClassifier(covariance="full", random_state=0).fit(X, X[:, 0] > 0)
    found = model.explain(X[0])
    assert found.intercept + sum(item.amount for item in found.contributions) == pytest.approx(found.margin, abs=1e-9)
    assert found.contributions[0].column == 0
    model = AROWRegressor(random_state=0).fit(X, X @ [1.0, 2.0, 3.0, 4.0] + 5)
    found, (mean, deviation) = model.explain(X[0]), model.predict(X[:1], return_std=True)
    assert found.intercept + sum(item.amount for item in found.contributions) == pytest.approx(mean[0], abs=1e-9)
    assert (found.margin, found.deviation) == (mean[0], pytest.approx(deviation[0]))
    assert (found.label, found.probability) == (None, None)
    assert "Prediction" in found._repr_html_()


def test_a_kernel_has_nothing_to_explain_with():
    model = KernelAROWClassifier(random_state=0).fit(np.eye(3), [0, 1, 0])
    with pytest.raises(ValueError, match="no weights by feature"):
        model.explain(np.eye(3)[0])


def test_the_baseline_is_the_chance_of_a_row_without_features():
    X = sparse.csr_matrix(np.random.default_rng(0).normal(size=(60, 3)))
    model = AROWClassifier(random_state=0).fit(X, np.arange(60) % 3 == 0)
    empty = model.explain(sparse.csr_matrix((1, 3)))
    assert (empty.contributions, empty.margin) == ((), empty.intercept)
    assert empty.probability == pytest.approx(empty.baseline)


def test_a_margin_of_nothing_has_no_sign():
    texts, labels = ["good film", "bad film", "good plot", "bad plot"], ["pos", "neg", "pos", "neg"]
    model = TextClassifier(AROWClassifier(fit_intercept=False, random_state=0)).fit(texts, labels)
    found = model.explain("words that nobody knows")
    assert found.label == "neg"  # whose margin is the other one's, turned round
    assert math.copysign(1, found.margin) == math.copysign(1, found.intercept) == 1
    assert found.summary.startswith("margin +0 ")


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_evidence_grows_with_what_was_learned_of_a_row(fit_intercept):
    X = sparse.csr_matrix([[1.0, 0, 0], [0, 1.0, 0]] * 20)
    model = AROWClassifier(fit_intercept=fit_intercept, random_state=0).fit(X, [0, 1] * 20)
    seen, half, unseen = (model.explain(row).evidence for row in ({0: 1.0}, {0: 1.0, 2: 1.0}, {2: 1.0}))
    assert unseen == 0 < half < seen < 1


@pytest.mark.parametrize("options", [{}, {"analyzer": "char_wb", "ngram_range": (2, 3)}, {"idf": False}], ids=str)
@pytest.mark.parametrize("labels", [["spam", "ham", "spam", "ham"], ["a", "b", "c", "d"]], ids=["two", "four"])
def test_words_of_a_text_are_those_of_the_document(options, labels):
    model = TextClassifier(AROWClassifier(random_state=0), **options, hash_bits=16).fit(TEXTS * 3, labels * 3)
    text = "Free, FREE lunch\nwith Zoë"
    found = model.explain(text)
    total = found.intercept + math.fsum(item.amount for item in found.contributions)
    assert total == pytest.approx(found.margin, abs=1e-9)
    assert found.label == model.predict_one(text)
    assert "".join(piece.text for piece in found.pieces) == text
    in_words = math.fsum(piece.amount or 0 for piece in found.pieces)
    assert in_words == pytest.approx(found.margin - found.intercept, abs=1e-9)
    if not options.get("analyzer"):
        names = {item.name for item in found.contributions}
        assert names >= {"Free", "lunch", "Free FREE", "Zoë"}
        assert names <= {"Free", "lunch", "with", "Zoë", "Free FREE", "FREE lunch", "lunch with", "with Zoë"}


def test_what_is_shown_is_the_top_and_the_rest_is_named_as_a_sum():
    model = TextClassifier(AROWClassifier(random_state=0), hash_bits=16).fit(TEXTS * 3, ["spam", "ham"] * 6)
    found = model.explain("win the free budget meeting", top=2)
    assert len(found.shown) == 2
    lines = str(found).splitlines()
    assert lines[0].startswith(("spam ", "ham "))
    assert "others)" in lines[-1]
    assert len(found.speaking_for) + len(found.speaking_against) == 2
    with pytest.raises(ValueError, match="top"):
        model.explain("win", top=0)


def test_a_page_says_which_side_a_feature_is_on_and_what_the_intercept_adds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    model = AROWClassifier(random_state=0).fit(X, np.where(X @ [1.0, -1.0, 0.5] + 0.3 > 0, "yes", "no"))
    found = model.explain(np.array([2.0, 1.0, 0.0]))
    html = page("Title", [("", found)])
    for side, word, items in (
        ("for", "For yes", found.speaking_for),
        ("against", "Against yes", found.speaking_against),
    ):
        (group,) = re.findall(rf'<tbody class="{side}">.*?</tbody>', html, re.DOTALL)
        assert f">{word}<" in group
        assert re.findall(r"--part: [\d.]+%\">([-+][\d.]+)<", group) == [f"{item.amount:+.4f}" for item in items] != []
    (rest,) = re.findall(r'<tbody class="rest">.*?</tbody>', html, re.DOTALL)
    names, amounts = re.findall(r'class="name">(.*?)<', rest), re.findall(r"<td>([-+].*?)<", rest)
    assert names == ["(intercept)", "Margin"]
    assert amounts == [f"{found.intercept:+.4f}", f"{found.margin:+.4f}"]
    assert "(intercept)" in str(found)
    target = AROWRegressor(random_state=0).fit(X, X @ [1.0, -1.0, 0.5]).explain(np.array([2.0, 1.0, 0.0]))
    html = page("Title", [("", target)])
    assert re.findall(r'<tbody class="(\w+)">\s*<tr><th scope="rowgroup" colspan="3">(\w+)<', html) == [
        ("for", "More"),
        ("against", "Less"),
    ]


def test_a_long_text_is_cut_on_its_page(monkeypatch):
    monkeypatch.setattr(explanation_page, "LONGEST_ON_PAGE", 30)
    model = TextClassifier(AROWClassifier(random_state=0)).fit(TEXTS, ["spam", "ham"] * 2)
    html = model.explain(" ".join(TEXTS))._repr_html_()
    (document,) = re.findall(r'<p class="document">.*?</p>', html)
    assert document.endswith(" ...</p>")
    shown = re.sub(r"<span.*?</span>|<.*?>", "", document).removesuffix(" ...")
    assert shown == " ".join(TEXTS)[:30]


def test_hostile_text_reaches_neither_terminal_nor_page_unescaped():
    hostile = "free \x1b[31m<script>alert(1)</script> prize\x00 \u202ewin"
    model = TextClassifier(AROWClassifier(random_state=0), token_pattern=r"\S+").fit(
        [*TEXTS, hostile], ["spam", "ham", "spam", "ham", "<b>\x1b"]
    )
    found = model.explain(hostile)
    for text in (str(found), found._repr_html_(), page("<i>\x07", [("<u>", found)])):
        assert all(character.isprintable() for character in text.replace("\n", ""))
    html = page("<i>\x07", [("<u>", found)])
    for tag in ("<script", "<b>", "<u>", "<i>"):
        assert tag not in html
    assert "&lt;script&gt;" in html


def test_percentages_are_never_certain_unless_they_are():
    assert [percent(part) for part in (0.0, 0.5, 0.99987, 0.9999999, 1.0)] == [
        "0.0 %", "50.0 %", "99.99 %", "> 99.999 %", "100.0 %",
    ]  # fmt: skip


def test_one_feature_that_is_not_shown_is_called_another_one_everywhere():
    model = AROWClassifier(random_state=0).fit(np.eye(4), [0, 1, 0, 1])
    found = model.explain(np.ones((1, 4)), top=3)
    assert "(1 other)" in str(found)
    assert "(1 other)" in found._repr_html_()
