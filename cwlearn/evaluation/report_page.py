"""`report`: a comparison as one page of HTML that needs nothing else: no server, no script, nothing from outside.

`report_ranking` and `report_data_set` compute what the page says; the markup is in `templates/`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import NamedTuple

from cwlearn._version import __version__
from cwlearn.evaluation.charts import COLORS
from cwlearn.evaluation.comparison import Comparison
from cwlearn.evaluation.rendering import render
from cwlearn.evaluation.report_data_set import DataSetSection, section_of
from cwlearn.evaluation.report_ranking import Ranking, ranking_of
from cwlearn.utils.atomic_file import replaced_file


class NoiseSection(NamedTuple):
    """All results for one part of wrong training labels."""

    ranking: Ranking
    data_sets: list[DataSetSection]


@dataclass(frozen=True)
class Page:
    """The whole page."""

    title: str
    n_folds: int
    max_epochs: int
    tuned_once: bool
    version: str
    seed: int
    n_colors: int
    sections: list[NoiseSection]


def report(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Write a comparison as a page of HTML.

    The page is one file without scripts.  It has the ranking, the error after each epoch and row, a reliability diagram
    and the heaviest weights of the best candidate.

    Parameters
    ----------
    comparison : Comparison
        What `compare` returned.
    path : path
        The file to write.  One that is there is replaced in one step.
    """
    text = page(comparison).encode()
    with replaced_file(path) as file:
        file.write(text)


def page(comparison: Comparison) -> str:
    """The text of the page."""
    settings = comparison.trial_settings
    content = Page(
        title=_title(comparison),
        n_folds=comparison.data_sets[0].n_folds,
        max_epochs=settings.epochs,
        tuned_once=settings.tuned_once,
        version=__version__,
        seed=settings.seed,
        n_colors=COLORS,
        sections=[
            NoiseSection(
                ranking_of(comparison, noise),
                [section_of(comparison, data_set, noise) for data_set in comparison.data_sets],
            )
            for noise in comparison.noises
        ],
    )
    return render("page.html.jinja", page=content)


def _title(comparison: Comparison) -> str:
    """What was found, if one sentence can say it; else what was compared."""
    names = [data_set.name for data_set in comparison.data_sets]
    where = names[0] if len(names) == 1 else f"{len(names)} data sets"
    if len(comparison.candidates) == 1:
        return f"{comparison.candidates[0].title} on {where}"
    firsts = {comparison.ranking(noise)[0] for noise in comparison.noises}
    if len(firsts) > 1:
        return f"{len(comparison.candidates)} classifiers on {where}, with and without wrong labels"
    best = comparison.candidates[firsts.pop()].title
    return f"{best} makes the fewest mistakes on {where}" if len(names) == 1 else f"{best} comes first on {where}"
