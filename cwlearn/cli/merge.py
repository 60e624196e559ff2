"""`cwlearn merge`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

from cwlearn.cli.common import add_output, save_model, warn_of_repeats
from cwlearn.cli.flags import add_memory, checked
from cwlearn.core import merging, model_file
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import HOW
from cwlearn.errors import UsageError, listed, shown
from cwlearn.text.sources import STDIN
from cwlearn.utils.atomic_file import check_writable
from cwlearn.utils.messages import put, put_json
from cwlearn.utils.progress import ProgressBar

EXAMPLE = "  cwlearn merge monday.npz tuesday.npz -m week.npz"


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "models", nargs="+", metavar="MODEL", help="model files, of one algorithm and with the same labels"
    )
    parser.add_argument("-m", "--model", required=True, metavar="OUT", help="file to write the merged model to")
    parser.add_argument(
        "--how",
        type=checked(HOW),
        default="posterior",
        metavar=HOW.form,
        help="posterior (the default) adds up what each model has learned beyond the common prior; kl counts the "
        "prior once for each model, as the paper does; l2 averages means and covariances",
    )
    parser.add_argument(
        "--base", metavar="MODEL", help="the model that all of them were resumed from, so that it counts only once"
    )
    add_memory(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> None:
    if STDIN in (arguments.model, *arguments.models):
        raise UsageError("models are read from files and written to files: - names none")
    check_writable(arguments.model)
    if not arguments.quiet:
        warn_of_repeats(arguments.models)
    start = time.perf_counter()
    bar = ProgressBar(arguments.quiet or arguments.json)
    bar.begin("merging", len(arguments.models), " models")
    most = getattr(arguments, "memory", None)
    base = None if arguments.base is None else model_file.load(arguments.base, most)

    def loaded() -> Iterator[tuple[str, Learner]]:
        for path in arguments.models:  # one at a time: memory for the sum and for one of them
            yield shown(path), model_file.load(path, most)
            bar.advance(1)

    learner = merging.merge(loaded(), arguments.how, base)
    bar.close()
    save_model(learner, arguments.model)
    report = {
        "model": arguments.model,
        "models": len(arguments.models),
        "how": arguments.how,
        "task": learner.rule.task,
        "algorithm": learner.rule.name,
        "features": learner.state.n_features,
        "labels": learner.label_names,
        "rows": learner.statistics["rows"],
        "updates": learner.statistics["updates"],
        "mistakes": learner.statistics["mistakes"] if len(learner.classes) else None,
        "seconds": time.perf_counter() - start,
    }
    if arguments.json:
        put_json(report)
    elif not arguments.quiet:
        labels = f", labels {listed(learner.label_names)}" if learner.label_names else ""
        put(f"{arguments.model}: {learner.rule.name} model of {report['features']:,} features{labels}")
        put(
            f"merged from {report['models']:,} {'model' if report['models'] == 1 else 'models'}: "
            f"{report['rows']:,} rows learned, {report['updates']:,} updates"
        )
