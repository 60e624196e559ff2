"""A comparison as one page of HTML that needs nothing else: no server, no script, nothing from outside."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from cwlearn._version import __version__
from cwlearn.core.class_labels import label_text
from cwlearn.evaluation.charts import COLORS, Line, escape, legend, line_chart, percent, weight_chart
from cwlearn.evaluation.comparison import Comparison
from cwlearn.evaluation.data_sets import DataSet
from cwlearn.evaluation.significance import CLEAR, LEGEND, mark

HEAVIEST = 20  # weights that are shown


def _style() -> str:
    with open(os.path.join(os.path.dirname(__file__), "report.css"), encoding="utf-8") as file:
        general = file.read()
    uses = {".line": "stroke", ".dot": "fill", ".key": "background"}
    colors = [f"{kind}.c{i} {{ {use}: var(--c{i}); }}" for i in range(COLORS) for kind, use in uses.items()]
    return "\n".join([general, *colors])


def page(comparison: Comparison) -> str:
    """The whole page."""
    names = ", ".join(data_set.name for data_set in comparison.data_sets)
    title = f"Which classifier for {names}?"
    sections = []
    for noise in comparison.noises:
        sections.append(_ranking(comparison, noise))
        for data_set in comparison.data_sets:
            sections.append(_data_set(comparison, data_set, noise))
    folds, trial_settings = comparison.data_sets[0].folds, comparison.trial_settings
    tuning = (
        "in the first fold, for all of them: other folds are tested on rows that had a say in it"
        if trial_settings.tuned_once
        else "in the training rows of each fold; nothing was chosen on test rows"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{_style()}</style></head><body>\n<h1>{escape(title)}</h1>\n"
        f'<p class="soft">{folds}-fold cross-validation on the same folds for all. Parameters and the number of epochs '
        f"(up to {trial_settings.epochs}) were chosen by one randomised run {tuning}. "
        f"cwlearn {__version__}, seed {trial_settings.seed}.</p>\n" + "\n".join(sections) + "\n</body></html>\n"
    )


# -- the ranking -------------------------------------------------------------------------------------------------------


def _ranking(comparison: Comparison, noise: float) -> str:
    order = comparison.order(noise)
    out = [j for j in range(len(comparison.candidates)) if j not in order]
    errors, mean_ranks = comparison.errors(noise), comparison.mean_ranks(noise)
    best = comparison.candidates[order[0]]
    several = len(comparison.data_sets) > 1
    head = ['<th class="words">algorithm</th>', *(["<th>mean rank</th>"] if several else [])]
    head += [f"<th>{escape(data_set.name) if several else 'test error'}</th>" for data_set in comparison.data_sets]
    head += ["<th>online mistakes</th>", "<th>training, s</th>", '<th class="words">chosen most often</th>']
    worst = np.nanmax(errors) or 1.0
    rows = []
    for j in order:
        one = comparison.candidates[j]
        cells = [f"<td>{escape(one.title)}</td>", *([f"<td>{mean_ranks[j]:.2f}</td>"] if several else [])]
        for i, data_set in enumerate(comparison.data_sets):
            if np.isnan(errors[i, j]):
                cells.append(f'<td title="{escape(comparison.refusals[data_set.name, one.name])}">left out</td>')
                continue
            p = comparison.corrected_p_value(data_set.name, noise, best.name, one.name)
            stars, part = mark(p), 100 * errors[i, j] / worst
            cells.append(
                f'<td class="bar" style="--part: {part:.0f}%" title="p = {p:.3g}">{100 * errors[i, j]:.2f}%{stars}</td>'
            )
        cells += [
            f"<td>{_mistakes(comparison, noise, one.name)}</td>",
            f"<td>{_seconds(comparison, noise, one.name)}</td>",
        ]
        cells.append(f'<td class="words">{escape(_settings(comparison, noise, one.name))}</td>')
        kind = ' class="best"' if j == order[0] else ""
        rows.append(f"<tr{kind}>{''.join(cells)}</tr>")
    for j in out:
        why = next(why for (_, name), why in comparison.refusals.items() if name == comparison.candidates[j].name)
        title = escape(comparison.candidates[j].title)
        words = f'<td class="words" colspan="{len(head) - 1}">left out: {escape(why)}</td>'
        rows.append(f'<tr class="out"><td>{title}</td>{words}</tr>')
    heading = (
        "Ranking"
        if len(comparison.noises) == 1 and not noise
        else f"Ranking, {percent(noise)} of the training labels wrong"
    )
    return (
        f'<h2>{heading}</h2>\n<p class="verdict">{_verdict(comparison, noise, order)}</p>\n'
        f'<div class="scroll"><table><thead><tr>{"".join(head)}</tr></thead><tbody>{"".join(rows)}</tbody>'
        f'</table></div>\n<p class="soft">Stars: differs from {escape(best.title)} by McNemar\'s exact test on '
        f"test rows, corrected for all {comparison.tests:,} comparisons by Holm's method ({LEGEND}). Online mistakes: "
        f"in the first pass, each row before it was learned from. Training: seconds of one core for a fold.</p>"
    )


def _verdict(comparison: Comparison, noise: float, order: list[int]) -> str:
    best = comparison.candidates[order[0]]
    several = len(comparison.data_sets) > 1
    means = ", ".join(
        percent(comparison.error(data_set.name, noise, best.name)) + (f" ({escape(data_set.name)})" if several else "")
        for data_set in comparison.data_sets
    )
    beaten = [
        comparison.candidates[j]
        for j in order[1:]
        if all(
            _clearly_better(comparison, data_set.name, noise, best.name, comparison.candidates[j].name)
            for data_set in comparison.data_sets
        )
    ]
    if len(order) == 1:
        return f"<b>{escape(best.title)}</b> has a test error of {means}."
    everywhere = " on every data set" if several else ""
    clear = (
        f"and is clearly better than {len(beaten)} of the {len(order) - 1} others{everywhere}"
        if beaten
        else "but its lead over the others may be chance"
    )
    return f"<b>{escape(best.title)}</b> comes first, with a test error of {means}, {clear}."


def _clearly_better(comparison: Comparison, data_set: str, noise: float, one: str, other: str) -> bool:
    lower = comparison.error(data_set, noise, one) < comparison.error(data_set, noise, other)
    return bool(lower and comparison.corrected_p_value(data_set, noise, one, other) < CLEAR)


def _mistakes(comparison: Comparison, noise: float, name: str) -> str:
    found = [one for data_set in comparison.data_sets for one in comparison.of(data_set.name, noise, name)]
    pairs = [(one.mistakes, one.progress[-1][0]) for one in found if one.mistakes is not None and one.progress]
    return percent(sum(mistakes for mistakes, _ in pairs) / sum(rows for _, rows in pairs)) if pairs else "-"


def _seconds(comparison: Comparison, noise: float, name: str) -> str:
    found = [one.seconds for data_set in comparison.data_sets for one in comparison.of(data_set.name, noise, name)]
    return f"{np.mean(found):.3g}"


def _settings(comparison: Comparison, noise: float, name: str) -> str:
    online = next(one.online for one in comparison.candidates if one.name == name)
    texts = []
    for data_set in comparison.data_sets:
        if comparison.of(data_set.name, noise, name):
            setting, epochs = comparison.setting(data_set.name, noise, name)
            words = [f"{key} {value}" for key, value in setting.items()]
            texts.append(", ".join(words + ([f"{epochs} {'epoch' if epochs == 1 else 'epochs'}"] if online else [])))
    return "; ".join(dict.fromkeys(texts)) or "-"


# -- one data set ------------------------------------------------------------------------------------------------------


def _data_set(comparison: Comparison, data_set: DataSet, noise: float) -> str:
    n_rows = len(data_set.y)
    noisy = f", {percent(noise)} of the training labels wrong" if noise else ""
    part = [j for j in comparison.order(noise) if comparison.of(data_set.name, noise, comparison.candidates[j].name)]
    part.sort(key=lambda j: comparison.error(data_set.name, noise, comparison.candidates[j].name))
    shown = [comparison.candidates[j] for j in part[:COLORS]]
    cards = [*_curves(comparison, data_set, noise, shown), _weights(comparison, data_set, noise, shown[0].name)]
    more = f" The {len(shown)} best are drawn." if len(part) > len(shown) else ""
    return (
        f'<h2>{escape(data_set.name)}{noisy}</h2>\n<p class="soft">{n_rows:,} rows, {data_set.n_used:,} features, '
        f"{len(data_set.y) and len(data_set.rows.values) / n_rows:.0f} of them in a row, "
        f"{len(data_set.classes)} labels.{more}</p>\n"
        f'<div class="cards">{"".join(card for card in cards if card)}</div>\n{_pairs(comparison, data_set, noise)}'
    )


def _card(title: str, chart: str, lines: list[Line], words: str) -> str:
    if not chart:
        return ""
    return f'<div class="card"><h3>{title}</h3>{chart}{legend(lines)}<p class="soft">{words}</p></div>'


def _curves(comparison: Comparison, data_set: DataSet, noise: float, shown: list[Any]) -> Iterator[str]:
    epochs, progress, reliable = [], [], []
    for color, one in enumerate(shown):
        outcomes = comparison.of(data_set.name, noise, one.name)
        by_epoch = np.mean([outcome.by_epoch for outcome in outcomes], axis=0)
        points = [(float(number), float(error)) for number, error in enumerate(by_epoch, 1)]
        notes = [f"{percent(error)} after {number:.0f}" for number, error in points]
        if not one.online:
            points = [(1.0, points[0][1]), (float(comparison.trial_settings.epochs), points[0][1])]
            notes = [f"{percent(points[0][1])}, not in epochs"] * 2
        epochs.append(Line(one.title, points, color, notes))
        progress.append(Line(one.title, *_progressive(outcomes, color)))
        reliable.append(Line(one.title, *_reliability(outcomes, color)))
    chart = line_chart("Test error after each epoch", epochs, "epochs", "test error")
    yield _card(
        "Test error after each epoch", chart, epochs, "Mean of the folds, with the setting that each fold chose."
    )
    chart = line_chart("Progressive error", progress, "rows seen (log scale)", "mistakes so far", log_x=True)
    yield _card(
        "Progressive error",
        chart,
        progress,
        "In the first pass: mistakes among the rows so far, each before it was learned from.",
    )
    chart = line_chart("Reliability", reliable, "probability that was predicted", "part that was right", diagonal=True)
    yield _card(
        "Are its probabilities right?",
        chart,
        reliable,
        "Test rows by the probability of the predicted label; on the dashed line it is as often right as it says.",
    )


def _progressive(outcomes: list[Any], color: int) -> tuple[list[tuple[float, float]], int, list[str]]:
    """Mistakes of all folds together, at the places that all of them have."""
    tables = [dict(map(tuple, outcome.progress)) for outcome in outcomes]
    places = sorted(set.intersection(*(set(table) for table in tables))) if tables else []
    points = [
        (float(place), float(np.mean([table[place] for table in tables])) / place) for place in places if place > 4
    ]
    return points, color, [f"{percent(error)} of {rows:,.0f} rows" for rows, error in points]


def _reliability(outcomes: list[Any], color: int) -> tuple[list[tuple[float, float]], int, list[str]]:
    tables = [outcome.bins for outcome in outcomes if outcome.bins is not None]
    if not tables:
        return [], color, []
    total = np.sum(tables, axis=0)
    kept = [(rows, chance / rows, right / rows) for rows, chance, right in total.tolist() if rows >= 5]
    notes = [f"{percent(right)} of {rows:,.0f} rows, predicted {percent(chance)}" for rows, chance, right in kept]
    return [(chance, right) for _, chance, right in kept], color, notes


def _weights(comparison: Comparison, data_set: DataSet, noise: float, winner: str) -> str:
    """The heaviest weights of the best one."""
    title = next(one.title for one in comparison.candidates if one.name == winner)
    labels = [label_text(label) for label in data_set.classes.tolist()]
    several = len(labels) > 2
    names = data_set.feature_names or []
    rows = []
    for weight in comparison.weights(data_set, noise, winner, HEAVIEST):
        name = names[weight.feature] if weight.feature < len(names) else str(weight.feature)
        rows.append((f"{name} → {labels[weight.label]}" if several else name, weight.mean, weight.deviation))
    known = bool(rows) and rows[0][2] is not None
    spread = " The thin lines are one standard deviation to both sides." if known else ""
    sign = (
        " Each is of a feature for a label: green speaks for it, red against it."
        if several
        else f" Green speaks for label {escape(labels[1])}, red for {escape(labels[0])}."
    )
    words = f"{escape(title)} on all rows, with the setting that was chosen most often.{sign}{spread}"
    return _card("The heaviest weights of the best one", weight_chart("weight", rows), [], words)


def _pairs(comparison: Comparison, data_set: DataSet, noise: float) -> str:
    """McNemar's test between all pairs."""
    part = [one for one in comparison.candidates if comparison.of(data_set.name, noise, one.name)]
    if len(part) < 2:
        return ""
    head = "".join(f"<th>{escape(one.name)}</th>" for one in part)
    rows = []
    for one in part:
        cells = [
            "<td></td>"
            if one is other
            else f"<td>{_probability(comparison.corrected_p_value(data_set.name, noise, one.name, other.name))}</td>"
            for other in part
        ]
        rows.append(f"<tr><td>{escape(one.name)}</td>{''.join(cells)}</tr>")
    return (
        f'<details><summary>McNemar\'s test between all pairs</summary><div class="scroll"><table>'
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        f'<p class="soft">How likely so large a difference is if both are equally good, corrected for the number '
        f"of comparisons.</p></details>"
    )


def _probability(p: float) -> str:
    return "-" if math.isnan(p) else f"{p:.2g}" if p >= 0.001 else "&lt; 0.001"
