"""The race of candidates: who may win, who drops out, and what no race may do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from cwlearn.core import choosing, rules
from cwlearn.core.choosing import FOLDS, ROUNDS, Race, Racer, choose
from cwlearn.core.field import LABELS, TARGETS, options_of
from cwlearn.core.learner import Learner
from cwlearn.core.naive_bayes import LabelCounts
from cwlearn.core.rows import as_rows
from cwlearn.core.states.base import NONE
from cwlearn.core.training import Training
from cwlearn.errors import DataError
from tests.cases import labelled_rows, random_rows

AUTO = Training(epochs="auto")


def race_of(X, y, weights=NONE):
    classes, numbers = np.unique(y, return_inverse=True)
    targets = 2.0 * numbers - 1 if len(classes) == 2 else numbers.astype(np.float64)
    return Race(classes, as_rows(sparse.csr_matrix(X), np.float32), targets, weights)


def noise(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_rows, 20)), np.where(rng.random(n_rows) < 0.5, 1.0, -1.0)


def chosen(X, y, training=AUTO, weights=NONE, seed=0, **options):
    return choose(race_of(X, y, weights), "classification", training, None, np.random.RandomState(seed), **options)


def test_the_same_seed_gives_the_same_race():
    X, y = random_rows(200, noise=0.1)
    first, second = chosen(X, y), chosen(X, y)
    assert first == second
    assert first.rows == 201


def test_too_few_rows_do_not_choose():
    X, y = random_rows(18)
    assert X.shape[0] == 19
    assert chosen(X, y) is None
    X, y = random_rows(19)
    assert chosen(X, y) is not None


def test_the_winner_is_the_best_of_the_field_and_each_is_named_once():
    choice = chosen(*random_rows(200, noise=0.2))
    assert len(choice.field) == len(LABELS)
    assert (choice.rule, choice.training) == (choice.field[0].rule, choice.field[0].training)
    assert all(entry.lasted in ROUNDS and entry.training.epochs in ROUNDS for entry in choice.field)


def test_the_field_is_ranked_by_losses_and_shows_errors(monkeypatch):
    judged, judge = {}, Race._judge

    def spy(race, learner):
        result = judge(race, learner)
        judged.setdefault((learner.rule, learner.training.initial_variance), []).append(result)
        return result

    monkeypatch.setattr(Race, "_judge", spy)
    field = chosen(*random_rows(200, noise=0.2), Training(epochs=1)).field
    losses, errors = (
        [
            np.concatenate([result[which] for result in judged[entry.rule, entry.training.initial_variance]]).mean()
            for entry in field
        ]
        for which in (0, 1)
    )
    assert losses == sorted(losses)
    assert [entry.error for entry in field] == errors
    assert any(loss != error for loss, error in zip(losses, errors, strict=True))


@pytest.mark.parametrize("n_labels", [2, 3])
def test_a_row_that_is_hardly_right_is_half_a_mistake(n_labels):
    """The loss falls from 1 to 0 where the lead of the true label goes from -0.3 to 0.3 usual leads."""
    X, y = labelled_rows(300, n_labels=n_labels) if n_labels > 2 else random_rows(300, noise=0.2)
    race = race_of(X, y)
    learner = Learner(rules.AROW(), Training(), race.classes, race.rows.n_features)
    learner.learn(race.rows.part(0, 60), race.targets[:60])
    losses, errors = race._judge(learner)
    margins, _ = learner.margins(race.rows)
    if n_labels > 2:
        true = race.targets.astype(int)
        lead = np.array([row[z] - max(np.delete(row, z)) for row, z in zip(margins, true, strict=True)])
    else:
        lead = margins * race.targets
    in_usual_leads = lead / np.median(np.abs(lead))
    assert losses == pytest.approx(np.interp(in_usual_leads, [-0.3, 0.3], [1, 0]), abs=1e-9)
    assert errors.tolist() == (lead < 0).tolist()
    assert np.sum((losses > 0) & (losses < 1)) > 10


def test_rows_without_any_margin_are_judged_by_their_labels():
    race = race_of(np.zeros((30, 2)), np.resize([1.0, -1.0], 30))
    learner = Learner(rules.AROW(), Training(fit_intercept=False), race.classes, 2)
    losses, errors = race._judge(learner)
    assert losses.tolist() == errors.tolist()
    assert errors.mean() == 0.5


def racer_with(losses, epochs=1):
    return Racer(rules.AROW(), AUTO, {epochs: np.asarray(losses, float)})


def test_a_small_difference_drops_nobody_and_a_clear_one_does():
    rows = np.arange(1000)
    best, other, worse = rows < 300, (rows >= 150) & (rows < 460), (rows >= 200) & (rows < 600)
    racers = [racer_with(row, 20) for row in (best, other, worse)]  # 1 and 10 points behind, standard errors 2
    left = choosing._still_racing(racers, 20, 10)
    assert any(racer is racers[1] for racer in left)
    assert not any(racer is racers[2] for racer in left)


def test_differences_are_paired_so_that_rows_that_are_hard_for_all_do_not_matter():
    hard = (np.random.default_rng(0).random(1000) < 0.5).astype(float)
    worse = hard.copy()
    worse[np.flatnonzero(hard == 0)[:10]] = 1
    racers = [racer_with(hard, 1000), racer_with(worse, 1000)]  # 1 point behind: unpaired, the error is 2.2 points
    assert choosing._still_racing(racers, 1000, 10) == [racers[0]]


def test_who_needs_epochs_to_come_to_the_front_is_given_them():
    """Half of the best loss may be missing after one epoch, a tenth after five; alone there is nothing to wait for."""
    best = np.arange(10_000) < 2000
    behind = [np.arange(10_000) < 2000 * part for part in (1.4, 1.7)]
    left = choosing._still_racing([racer_with(row) for row in (best, *behind)], 1, 10)
    assert [racer.loss for racer in left] == [0.2, 0.28]
    left = choosing._still_racing([racer_with(row, 5) for row in (best, *behind)], 5, 10)
    assert [racer.loss for racer in left] == [0.2]
    alone = racer_with(best)
    alone.losses[2] = behind[0].astype(float)
    assert choosing._still_racing([alone], 2, 10) == []


def test_no_more_go_on_than_a_round_allows_and_the_others_give_back_their_memory():
    racers = [racer_with(row) for row in np.random.default_rng(0).random((8, 50)) < 0.5]
    for racer in racers:
        racer.learners = [None]
    left = choosing._still_racing(racers, 1, 3)
    assert len(left) <= 3
    assert sum(bool(racer.learners) for racer in racers) == len(left)


def test_on_labels_of_pure_chance_the_field_goes_on_as_far_as_the_rounds_allow():
    X, y = noise(4000)
    lasted = sorted((entry.lasted for entry in chosen(X, y).field), reverse=True)
    assert sum(epochs > 1 for epochs in lasted) == ROUNDS[1]
    assert lasted[0] >= 3


def test_wrong_labels_choose_few_epochs_or_a_cautious_rule():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 60))
    clean = np.where(X @ rng.standard_normal(60) > 0, 1.0, -1.0)
    y = np.where(rng.random(1500) < 0.25, -clean, clean)
    choice = chosen(X, y)
    aggressive = next(entry for entry in choice.field if entry.rule.name == "scw")
    assert choice.field[0].error <= aggressive.error
    assert choice.field[0].error < 0.34  # 0.25 is as good as can be


def test_separable_rows_have_a_winner_without_errors():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(300) < 0.5, 1.0, -1.0)
    X = np.column_stack([y, rng.standard_normal((300, 5)) * 0.1])
    assert chosen(X, y).field[0].error == 0


@pytest.mark.parametrize("epochs", [1, 2, 7, 10**7])
def test_a_given_number_of_epochs_stays_and_its_race_is_bounded(epochs):
    choice = chosen(*random_rows(100, noise=0.2), Training(epochs=epochs))
    assert {entry.training.epochs for entry in choice.field} == {epochs}
    lasted = [entry.lasted for entry in choice.field]
    assert lasted[0] == max(lasted) <= min(epochs, 20)


def test_without_a_shuffle_the_latest_rows_judge_what_those_before_them_have_taught():
    X, y = random_rows(99)
    folds = race_of(X, y)._folds(False, np.random.RandomState(0))
    assert [np.flatnonzero(fold.judging).tolist() for fold in folds] == [
        [*range(start, start + 20)] for start in (80, 60, 40)
    ]
    assert [np.flatnonzero(fold.learned).tolist() for fold in folds] == [[*range(stop)] for stop in (80, 60, 40)]
    assert chosen(X, y, Training(epochs="auto", shuffle=False)).rows == 60
    X = sparse.csr_matrix(np.ones((20_001, 1), np.float32))
    (fold,) = race_of(X, np.resize([-1.0, 1.0], 20_001))._folds(False, np.random.RandomState(0))
    assert np.flatnonzero(fold.judging).tolist() == [*range(16_001, 20_001)]


def test_in_one_pass_each_of_the_latest_tenths_judges_what_all_rows_before_it_have_taught():
    X, y = random_rows(102, noise=0.2)  # 103 rows
    counts, one_pass = [], Training(epochs=1, shuffle=False)
    race = replace(race_of(X, y), report=counts.append)
    choice = race.choose([(rules.AROW(), one_pass)], np.random.RandomState(0))
    wrong = 0
    for start, stop in ((41, 51), (51, 61), (61, 72), (72, 82), (82, 92), (92, 103)):
        learner = Learner(rules.AROW(), one_pass, race.classes, race.rows.n_features)
        learner.learn(race.rows.part(0, start), race.targets[:start])
        margins, _ = learner.margins(race.rows.part(start, stop))
        wrong += int(((margins > 0) != (race.targets[start:stop] > 0)).sum())
    assert wrong > 0
    assert choice.field[0].error == pytest.approx(wrong / 62)
    assert choice.rows == 62
    assert sum(counts) == 92  # each row once, the last tenth not at all


def test_in_one_pass_of_many_rows_the_last_two_tenths_judge():
    X = sparse.csr_matrix(np.ones((20_010, 1), np.float32))
    folds = race_of(X, np.resize([-1.0, 1.0], 20_010))._tenths()
    assert [(fold.learned.sum(), fold.judging.sum()) for fold in folds] == [(16_008, 2001), (2001, 2001)]


def test_every_row_judges_once_if_they_are_few_and_a_third_does_if_they_are_many():
    X, y = random_rows(99)
    folds = race_of(X, y)._folds(True, np.random.RandomState(0))
    assert np.sum([fold.judging for fold in folds], axis=0).tolist() == [1] * 100
    X = sparse.csr_matrix(np.ones((20_001, 1), np.float32))
    folds = race_of(X, np.resize([-1.0, 1.0], 20_001))._folds(True, np.random.RandomState(0))
    assert len(folds) == 1
    assert folds[0].judging.sum() == 6667


def test_little_memory_takes_fewer_folds(monkeypatch):
    X, y = random_rows(100)
    race, racers = race_of(X, y), [Racer(rules.AROW(), AUTO)]
    assert race._affordable(racers) == FOLDS
    monkeypatch.setattr(choosing, "free_memory", lambda: 0)
    assert race._affordable(racers) == 1
    assert chosen(X, y).rows == 34


def test_more_rows_than_a_race_takes_are_sampled(monkeypatch):
    monkeypatch.setattr(choosing, "MOST_ROWS", 50)
    X, y = random_rows(199)
    assert chosen(X, y).rows == 50
    race = race_of(X, y)._sample(False, np.random.RandomState(0), 50)
    assert race.targets.tolist() == y[::4].tolist()


@pytest.mark.parametrize("epochs", ["auto", 1, 7])
@pytest.mark.parametrize("budget", [1.0, 2.0, 3.5])
def test_a_race_keeps_its_budget(budget, epochs, monkeypatch):
    """With the winner, who is not part of it, no more rows than so many runs of ten epochs."""
    monkeypatch.setattr(choosing, "FREE_ROWS", 2000)
    X, y = noise(500)
    counts = []
    race = replace(race_of(X, y), report=counts.append, budget=budget)
    choose(race, "classification", Training(epochs=epochs), None, np.random.RandomState(0))
    most = max(2000, (budget - 1) * 10 * 500 / 1.75)
    assert most / 4 < sum(counts) <= most


def test_columns_that_do_not_occur_take_no_memory():
    X = sparse.csr_matrix((np.ones(60), (np.arange(60), np.resize([5, 2_000_000], 60))), (60, 2**21))
    race = race_of(X, np.resize([1.0, -1.0], 60))._with_few_columns()
    assert race.rows.n_features == 2
    assert choose(race, "classification", AUTO, None, np.random.RandomState(0)).field[0].error == 0


@pytest.mark.parametrize("scale", [1e-30, 1e18, 1e30])
def test_a_candidate_that_cannot_keep_such_numbers_drops_out(scale):
    X, y = random_rows(200)
    choice = chosen(X * np.float32(scale), y)
    assert choice is not None
    assert len(choice.field) <= len(LABELS)


def test_a_field_in_which_nobody_can_learn_has_no_winner(monkeypatch):
    def learn(*_):
        raise DataError("cannot be learned")

    monkeypatch.setattr(Race, "_learn", learn)
    assert chosen(*random_rows(100)) is None


def test_models_to_be_merged_leave_out_rules_that_cannot():
    X, _ = random_rows(100)
    rows = as_rows(X, np.float32)
    everybody = [rule for rule, _ in options_of("classification", rows, AUTO, False)]
    assert len(everybody) == len(LABELS)
    assert all(rule.takes_weights for rule in everybody)
    for how in ("posterior", "kl"):
        merged = [rule for rule, _ in options_of("classification", rows, AUTO, False, how=how)]
        assert merged == [rule for rule in everybody if rule.second_order and not rule.informed]
    averaged = [rule for rule, _ in options_of("classification", rows, AUTO, False, how="l2")]
    assert averaged == [rule for rule in everybody if not rule.sums_gradients]
    assert len(options_of("regression", rows, AUTO, False, how="posterior")) == len(TARGETS)


def test_one_pass_leaves_out_priors_of_all_rows():
    X, y = random_rows(100)
    for training, informed in ((Training(epochs=1, shuffle=False), False), (Training(epochs=1), True)):
        field = chosen(X, y, training).field
        assert any(entry.rule.informed for entry in field) == informed
        assert len(field) >= 8


def test_priors_are_those_of_the_rows_that_are_learned(monkeypatch):
    X, y = random_rows(200)
    race, counted = race_of(X, y), []
    original = LabelCounts.add

    def add(counts, rows, numbers, which):
        counted.append(which)
        original(counts, rows, numbers, which)

    monkeypatch.setattr(LabelCounts, "add", add)
    choose(race, "classification", AUTO, None, np.random.RandomState(0))
    assert np.sum(counted, axis=0).tolist() == [FOLDS - 1] * len(y)  # once for each fold, without its judges


@pytest.mark.parametrize("several", [False, True])
def test_strengths_follow_the_lengths_of_rows_and_the_initial_variance(several):
    """AROW's r is a variance of a margin, the others' C its inverse; a prior variance shrinks as rows grow."""
    dense = np.full((40, 4), 3.0)  # rows of squared length 36
    training = Training(epochs=2, initial_variance=0.5, fit_intercept=False)
    unit = 36 * (2 if several else 1)
    weights = {-1.0: 2.0, 1.0: 1.0}
    options = options_of("classification", as_rows(dense, np.float32), training, several, class_weight=weights)
    assert len(options) == len(LABELS)
    for candidate, (rule, own) in zip(LABELS, options, strict=True):
        if candidate.strength == "initial_variance":
            assert own.initial_variance == pytest.approx(candidate.multiple * 0.5 / unit, rel=0.01)
        else:
            assert own == training
        at_unit = unit * 0.5
        if candidate.strength == "learning_rate":  # a margin is as long as a row
            assert rule.learning_rate == pytest.approx(candidate.multiple / np.sqrt(at_unit), rel=0.01)
        elif candidate.multiple != 1 and candidate.strength != "initial_variance":
            expected = candidate.multiple * (at_unit if candidate.strength == "regularization" else 1 / at_unit)
            assert getattr(rule, candidate.strength) == pytest.approx(expected, rel=0.01)
        assert getattr(rule, "class_weight", weights) == weights


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_rows_of_extreme_lengths_do_not_choose_the_strengths(scale):
    rows = as_rows(np.full((4, 1), scale), np.float64)
    options = options_of("regression", rows, Training(epochs=2, fit_intercept=False), False)
    assert [rule.regularization for rule, _ in options] == [
        "auto" if candidate.multiple == 1 else candidate.multiple for candidate in TARGETS
    ]


def test_weights_count_in_the_judgement():
    X, y = noise(200)
    weights = np.ones(len(y))
    weights[:100] = 0.0
    choice = chosen(X, y, weights=weights)
    assert choice.field[0].error <= 0.5 + 1e-9


def test_equal_rows_and_many_labels_choose_something():
    assert chosen(np.ones((60, 3)), np.resize([1.0, -1.0, 1.0], 60)) is not None
    X, y = labelled_rows(300, n_labels=40)
    choice = chosen(X, y)
    assert choice is not None
    assert choice.field[0].error < 1


def test_the_report_gets_every_row_that_is_learned():
    X, y = random_rows(99)
    counts = []
    race = Race(np.unique(y), as_rows(X, np.float32), y, NONE, counts.append)
    race.choose([(rules.AROW(), Training(epochs=2))], np.random.RandomState(0))
    assert sum(counts) == 2 * 100 * (FOLDS - 1)


def test_more_epochs_are_tried_if_there_is_one_candidate_only(monkeypatch):
    monkeypatch.setattr(choosing, "CLEAR", 1e9)  # nobody is clearly behind
    X, y = noise(100)
    assert chosen(X, y).field[0].lasted <= max(ROUNDS)
    assert max(entry.lasted for entry in chosen(X, y).field) == max(ROUNDS)
    (entry,) = race_of(X, y).choose([(rules.AROW(), AUTO)], np.random.RandomState(0)).field
    assert entry.lasted == 20
