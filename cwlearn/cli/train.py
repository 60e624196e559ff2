"""`cwlearn train`."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cwlearn.cli.common import (
    DATA_HELP,
    add_output,
    check_paths,
    save_model,
    usage_checked,
    warn,
    warn_of_repeats,
)
from cwlearn.cli.flags import add_options, add_rules, checked, flag, given, given_text_options
from cwlearn.cli.parser import Parser
from cwlearn.cli.terminal import TerminalMonitor, reason
from cwlearn.cli.train_options import (
    AUTO,
    DEFAULT_RULE,
    DOCUMENTS_RULE,
    choose_options,
    is_multilabel,
    read_labels,
    wants_race,
)
from cwlearn.core import model_file
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import LEVEL, POSITIVE, SEED, TIMES
from cwlearn.core.rule import Rule
from cwlearn.core.rules import RULES, TASKS
from cwlearn.core.statistics import Statistics, new_statistics
from cwlearn.core.text_options import DEFAULT_NAMES, OF_FILES, TextOptions
from cwlearn.core.training import DEFAULT_BUDGET, Training
from cwlearn.errors import DataError, ModelError, UsageError, listed, shown
from cwlearn.parallel.sharing import Sharing
from cwlearn.text.labels import labels_for
from cwlearn.text.reader import Reading, has_documents
from cwlearn.text.resources import Resources
from cwlearn.text.run import Run
from cwlearn.text.sources import STDIN, as_sources, total_size
from cwlearn.utils.atomic_file import check_writable
from cwlearn.utils.machine import free_memory
from cwlearn.utils.messages import put, put_json, say

if TYPE_CHECKING:
    from cwlearn.parallel.tasks import ShardResult

EXAMPLE = """\
  cwlearn train reviews.jsonl -m reviews.npz                  fields text, label
  cwlearn train mails.csv -m m.npz --text subject,body        several fields
  cwlearn train big.svm.gz -m b.npz -a cw --epochs 1          in bounded memory
  cwlearn train more.svm -m b.npz --resume b.npz --epochs 1   with more data
  cwlearn train part-*.svm -m b.npz --epochs 1 --workers 4    four at once
  cwlearn train prices.svm -m p.npz --task regression         to numbers"""
USUAL_READING = ("format", "text", "label", "fields")
UNRECORDED = ("done", "lines", "checksum", "max_bad")  # parts of a progress that need not be equal to resume


def add_flags(parser: Parser) -> None:
    parser.add_argument("data", nargs="+", metavar="DATA", help=f"{DATA_HELP}; with --workers, each is a shard")
    parser.add_argument("-m", "--model", required=True, metavar="MODEL", help="file to write the model to")
    add_options(parser, Reading, only=USUAL_READING)
    add_options(parser, TextOptions, only=("ngram_range",))
    parser.add_argument(
        "-a",
        "--algorithm",
        choices=(AUTO, *RULES),
        metavar="ALGORITHM",
        help=f"one of {', '.join(RULES)}, or auto, the default: the best of nine candidates in a race on these data. "
        f"With parameters alone: {DEFAULT_RULE}, or {DOCUMENTS_RULE} for documents. cwlearn help ALGORITHM explains it",
    )
    parser.add_argument(
        "--task",
        choices=TASKS,
        metavar="TASK",
        help="classification (the default), or regression, which predicts numbers",
    )
    texts = {
        "epochs": f"Passes over the rows; auto tries how many suit them. Default: auto; if the algorithm is given, "
        f"{_default_epochs()}.",
        "shuffle": "Take the rows in a new random order in every epoch. Default: yes, except with one epoch, which "
        "takes the rows as they come and keeps none of them.",
    }
    add_options(parser, Training, only=("epochs", "shuffle"), texts=texts)
    parser.add_argument(
        "--resume",
        metavar="MODEL",
        help="continue with this model. A checkpoint continues where it was written, if the data are the same",
    )
    parser.add_argument("--force", action="store_true", help="resume with other parameters or data than before")
    parser.add_argument(
        "--checkpoint", type=checked(POSITIVE), metavar="MINUTES", help="write MODEL.checkpoint every MINUTES minutes"
    )
    parser.add_argument(
        "--multilabel",
        action="store_true",
        help="a row has any number of labels, between commas or in a JSON list",
    )
    parser.add_argument("--labels", type=read_labels, metavar="A,B,...", help="all labels. Default: those in the data")
    add_options(parser, Resources)
    add_options(parser, Sharing, only=("workers",))
    parser.add_argument(
        "--names",
        type=checked(LEVEL),
        default=DEFAULT_NAMES,
        metavar="N",
        help=f"keep the words of the N heaviest columns, if the data are documents. Default: {DEFAULT_NAMES}",
    )
    parser.add_argument("--seed", type=checked(SEED), default=0, metavar="N", help="seed of the shuffles. Default: 0")
    add_output(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="print how the error falls, as a table")
    add_rules(parser.add_rare_group("parameters of the algorithms"))
    training = parser.add_rare_group("training")
    training.add_argument(
        "--budget",
        type=checked(TIMES),
        default=DEFAULT_BUDGET,
        metavar="X",
        help="the most time that choosing and learning may take, as a multiple of one run with ten epochs; half a "
        "second or so is always allowed. Default: 3x",
    )
    add_options(
        training,
        Training,
        without=("epochs", "shuffle", "random_state", "warm_start", "verbose"),
    )
    add_options(parser.add_rare_group("documents"), TextOptions, without=("ngram_range", *OF_FILES))
    add_options(parser.add_rare_group("several workers"), Sharing, without=("workers",))
    add_options(parser.add_rare_group("reading"), Reading, without=USUAL_READING)


def _default_epochs() -> str:
    """The default of each algorithm, for its help text."""
    epochs: dict[int, list[str]] = {}
    for rule in RULES.values():
        epochs.setdefault(rule.default_epochs, []).append(rule.name)
    return ", ".join(f"{number} ({', '.join(names)})" for number, names in epochs.items())


def run(arguments: argparse.Namespace) -> None:
    checkpoint = None if arguments.checkpoint is None else f"{arguments.model}.checkpoint"
    _check_files(arguments, checkpoint)
    resumed = None if arguments.resume is None else _load_resumed(arguments)
    with usage_checked():
        reading = Reading(**given(arguments, Reading))
        sharing = Sharing(**given(arguments, Sharing))
        rule, training = choose_options(
            arguments,
            resumed,
            arguments.algorithm in (None, AUTO) and resumed is None and _has_documents(arguments, reading, sharing),
        )
        resources = Resources(**given(arguments, Resources))
        documents = given_text_options(arguments)
        for name in given(arguments, Sharing) if not sharing.wanted else ():
            raise UsageError(f"{flag(name)} is for several workers: add --workers N or --scheduler ADDRESS")
    before = resumed.statistics if resumed else new_statistics()
    start = time.perf_counter()
    choice, racing = None, wants_race(arguments, resumed)
    if training.epochs == AUTO or racing:
        from cwlearn.cli.race import race  # which a given algorithm with given epochs does not need

        with _nothing_learned(arguments.model):
            several = is_multilabel(arguments, resumed)
            rule, training, choice = race(arguments, rule, training, reading, resources, documents, sharing, several)
    counts: Run | ShardResult
    if sharing.wanted:
        from cwlearn.cli.shards import learn_in_shards  # which one model does not need

        learner, counts = learn_in_shards(arguments, sharing, rule, training, reading, resources, documents, resumed)
    else:
        learner, counts = _learn_alone(arguments, rule, training, reading, resources, documents, resumed, checkpoint)
    if f"{arguments.model}.checkpoint" in (checkpoint, arguments.resume):
        _remove_checkpoint(f"{arguments.model}.checkpoint")
    report = _report(arguments.model, learner, before, counts, training)
    report["race"] = None
    if choice is not None:
        from cwlearn.cli.race import print_race, race_record

        report["race"] = race_record(choice)
    report["seconds"] = time.perf_counter() - start
    progressive_error = learner.progressive_error_text(before)
    _warn_of_odd_results(learner, report)
    if arguments.json:
        put_json(report)
    elif not arguments.quiet:
        if racing and choice is not None:
            print_race(choice, arguments)
        _print_report(report, progressive_error)
        if racing and choice is None:
            put(f"no race: these rows are too few, or cannot all be read; {learner.rule.name} is the usual algorithm")


def _has_documents(arguments: argparse.Namespace, reading: Reading, sharing: Sharing) -> bool:
    """Whether the data are documents, for which a pipe may be waited for; a shard is never a pipe."""
    sources = as_sources(arguments.data)
    if sharing.wanted and not sources[0].is_regular:
        return False
    if not sharing.wanted:
        total_size(sources)  # a missing file is known before any is read
    with _nothing_learned(arguments.model):
        return has_documents(arguments.data, reading)


@contextmanager
def _nothing_learned(model: str) -> Iterator[None]:
    """Say so after Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted after 0 rows; {_fate_of(model)}")
        raise


def _check_files(arguments: argparse.Namespace, checkpoint: str | None) -> None:
    """Refuse files that cannot be written, before anything is read."""
    if arguments.model == STDIN:
        raise UsageError("a model is written to a file: -m - names none")
    check_paths(arguments.data, [arguments.model, checkpoint])
    for path in (arguments.model, checkpoint):
        if path is not None:
            check_writable(path)
    if not arguments.quiet:
        warn_of_repeats(arguments.data)


def _load_resumed(arguments: argparse.Namespace) -> Learner:
    """The model to continue with; it may take the memory of the weights of a training, or of any model that is read."""
    limit = max(getattr(arguments, "memory", None) or 0, free_memory() // 2)
    if os.path.isfile(arguments.resume):
        limit = max(limit, model_file.usual_memory(os.path.getsize(arguments.resume)))
    return model_file.load(arguments.resume, limit)


def _learn_alone(
    arguments: argparse.Namespace,
    rule: Rule,
    training: Training,
    reading: Reading,
    resources: Resources,
    documents: TextOptions | None,
    resumed: Learner | None,
    checkpoint: str | None,
) -> tuple[Learner, Run]:
    """Train one model on all rows, and save it; if that is interrupted, say what was kept."""
    table = arguments.verbose and not arguments.quiet
    monitor = TerminalMonitor(arguments.quiet or arguments.json, table, checkpoint, arguments.checkpoint or 0)
    labels = labels_for(rule, arguments.labels, several=is_multilabel(arguments, resumed))
    run = Run(arguments.data, rule, training, reading, resources, labels, resumed, monitor, documents=documents)
    if resumed is not None and resumed.unfinished is not None:
        _continue_checkpoint(resumed.unfinished, run, arguments.force)
    try:
        with monitor.handling_ctrl_c():
            learner = run.train()
            monitor.ended(run)
            if learner.documents is not None:
                _name_columns(learner, run, arguments.names)
            save_model(learner, arguments.model)
    except KeyboardInterrupt:
        say(_interruption(run, monitor, checkpoint, arguments.model))
        raise
    return learner, run


def _name_columns(learner: Learner, run: Run, most: int) -> None:
    """Keep the words of the heaviest columns.  The model is saved even if the data cannot be read once more."""
    from cwlearn.text.naming import name_columns  # which rows of numbers do not need

    try:
        name_columns(learner, run.reader(), most)
    except (OSError, DataError) as error:
        warn(f"the model has no words for its columns: {reason(error)}")


def _continue_checkpoint(unfinished: dict[str, Any], run: Run, force: bool) -> None:
    """Continue a checkpoint if this is the run that wrote it; with `force`, learn from other data as new data."""
    now = {**run.progress(), "memory": run.resources.memory if unfinished["memory"] else None}
    ignored = [*UNRECORDED, *([] if now["memory"] else ["memory"])]
    differences = [
        f"{name} {json.dumps(unfinished.get(name))}, now {json.dumps(now[name])}"
        for name in now
        if name not in ignored and unfinished.get(name) != now[name]
    ]
    if not differences:
        run.resume_from(unfinished, force)
    elif not force:
        raise ModelError(
            f"the checkpoint belongs to another run: {'; '.join(differences)}. With --force these data are learned "
            f"from as new ones"
        )


def _interruption(run: Run, monitor: TerminalMonitor, checkpoint: str | None, model: str) -> str:
    """What to tell after Ctrl-C; write a last checkpoint if the state is sound."""
    text = f"interrupted after {run.done:,} rows; {_fate_of(model)}"
    if checkpoint is None:
        return f"{text}; --checkpoint MINUTES would have kept what was learned"
    if run.learner is not None and run.done > monitor.kept and not monitor.torn:
        try:
            monitor.save(run)
        except (OSError, MemoryError) as error:
            text += f"; {shown(checkpoint)} could not be written: {reason(error)}"
    if monitor.kept:
        text += (
            f"; what was learned from {monitor.kept:,} rows is in {shown(checkpoint)}: the same command with --resume "
            f"{shown(checkpoint)} continues"
        )
    return text


def _fate_of(model: str) -> str:
    return f"{shown(model)} is as it was" if os.path.exists(model) else f"there is no {shown(model)}"


def _remove_checkpoint(path: str) -> None:
    """Remove a checkpoint that is not needed any more, because the model is saved."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        warn(f"{shown(path)} could not be removed: {reason(error)}")


def _report(
    model: str, learner: Learner, before: Statistics, counts: Run | ShardResult, training: Training
) -> dict[str, Any]:
    """The results of a training, as --json prints them."""
    statistics = learner.statistics
    return {
        "model": model,
        "task": learner.task,
        "algorithm": learner.rule.name,
        "rows": counts.rows,
        "nonzeros": counts.nonzeros,
        "features": learner.state.n_features,
        "labels": learner.label_names,
        "updates": statistics["updates"] - before["updates"],
        "mistakes": statistics["mistakes"] - before["mistakes"] if len(learner.classes) else None,
        "progressive_error": learner.progressive_error(before),
        "unsolved_updates": statistics["unsolved"] - before["unsolved"],
        "epochs": training.epochs,
        "bad_lines": counts.bad_lines,
        "shards_left_out": [] if isinstance(counts, Run) else [*counts.failures.values()],
    }


def _warn_of_odd_results(learner: Learner, report: dict[str, Any]) -> None:
    if not report["updates"]:
        hint = " (--confidence 0.5 never does)" if hasattr(learner.rule, "confidence") else ""
        warn(f"nothing was learned: no row asked for a change of the model{hint}")
    if len(learner.classes) > max(20, report["rows"] // 2):
        warn(f"{len(learner.classes):,} labels in {report['rows']:,} rows: are they classes?")
    if report["unsolved_updates"]:
        warn(f"{report['unsolved_updates']:,} exact updates did not converge")


def _print_report(report: dict[str, Any], progressive_error: str) -> None:
    regression = report["task"] == "regression"
    what, labels = ("regression", "") if regression else ("model", f", labels {listed(report['labels'])}")
    kind = "root mean squared error" if regression else "progressive error"
    epochs, of = ("1 epoch", "") if report["epochs"] == 1 else (f"{report['epochs']} epochs", " in the first epoch")
    put(f"{report['model']}: {report['algorithm']} {what} of {report['features']:,} features{labels}")
    put(
        f"{report['rows']:,} rows, {report['nonzeros']:,} nonzeros, {epochs}, {report['seconds']:.2f} s; "
        f"{report['updates']:,} updates; {kind} {progressive_error}{of}"
    )
