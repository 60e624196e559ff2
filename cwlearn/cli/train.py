"""`cwlearn train`."""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from dataclasses import fields
from typing import Any

from cwlearn.cli.common import DATA_HELP, add_output, check_paths, save_model, usage_checked
from cwlearn.cli.flags import add_options, add_rules, checked, flag, given, written
from cwlearn.cli.shards import learn_in_shards
from cwlearn.cli.terminal import TerminalMonitor, reason
from cwlearn.core import model_file
from cwlearn.core.class_labels import listed_labels
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import POSITIVE, SEED, LabelError, label_value
from cwlearn.core.rule import Rule
from cwlearn.core.rules import RULES, TASKS
from cwlearn.core.states.base import new_statistics
from cwlearn.core.training import BUILT_WITH, Training, check_update
from cwlearn.errors import ModelError, UsageError, listed, shown
from cwlearn.parallel.shards import Sharing
from cwlearn.parallel.tasks import ShardResult
from cwlearn.text.labels import labels_for
from cwlearn.text.run import Resources, Run
from cwlearn.text.sources import STDIN
from cwlearn.text.svmlight import Reading
from cwlearn.text.svmlight_errors import DECIMAL
from cwlearn.utils.atomic_file import check_writable
from cwlearn.utils.machine import free_memory
from cwlearn.utils.messages import put, put_json, say, tell_repeated

DEFAULT_RULE = "arow"
EXAMPLE = """\
  cwlearn train mails.svm -m spam.npz                             a model with all defaults
  cwlearn train big.svm.gz -m big.npz -a cw --epochs 1            one pass, in bounded memory
  cwlearn train more.svm -m big.npz --resume big.npz --epochs 1   go on where it stopped
  cwlearn train part-*.svm -m big.npz --epochs 1 --workers 4      four at once, then merged
  cwlearn train prices.svm -m price.npz --task regression         numbers instead of labels"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", nargs="+", metavar="DATA", help=DATA_HELP)
    parser.add_argument("-m", "--model", required=True, metavar="MODEL", help="file to write the model to")
    parser.add_argument("-a", "--algorithm", choices=RULES, help=f"which one (default: {DEFAULT_RULE})")
    parser.add_argument(
        "--task", choices=TASKS, help="what stands first in a line: a label (the default), or the number to predict"
    )
    parser.add_argument(
        "--resume",
        metavar="MODEL",
        help="go on with this model, exactly where it stopped; with a checkpoint, if the data it has read are the same",
    )
    parser.add_argument("--force", action="store_true", help="resume with other parameters or data than before")
    parser.add_argument(
        "--checkpoint", type=checked(POSITIVE), metavar="MINUTES", help="keep a copy in MODEL.checkpoint so often"
    )
    parser.add_argument(
        "--labels", type=_labels, metavar="A,B,...", help="all the labels there are (default: those found)"
    )
    parser.add_argument("--seed", type=checked(SEED), default=0, metavar="N", help="of the shuffles (default: 0)")
    add_output(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="print a table of the error as it falls")
    add_rules(parser.add_argument_group("parameters of the algorithms"))
    epochs: dict[int, list[str]] = {}
    for rule in RULES.values():
        epochs.setdefault(rule.default_epochs, []).append(rule.name)
    add_options(
        parser.add_argument_group("training"),
        Training,
        without=("random_state", "warm_start", "verbose"),
        epochs=", ".join(f"{number} ({', '.join(names)})" for number, names in epochs.items()),
        shuffle="yes, but for one epoch, which takes the rows as they come and so keeps none of them",
    )
    add_options(parser.add_argument_group("memory"), Resources)
    add_options(parser.add_argument_group("several workers"), Sharing)
    add_options(parser.add_argument_group("reading"), Reading)


def _labels(text: str) -> dict[float, str]:
    """Labels with commas between them."""
    parts = [part.strip() for part in text.split(",")]
    if not all(DECIMAL.fullmatch(part.encode()) and math.isfinite(float(part)) for part in parts):
        raise argparse.ArgumentTypeError(f"must be numbers with commas between them, got {text!r}")
    try:
        values = [label_value(part) for part in parts]
        listed_labels(values, "classification", numeric=True)
    except LabelError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be two or more different labels, got {text!r}") from None
    return dict(zip(values, parts, strict=True))


def run(arguments: argparse.Namespace) -> None:
    if arguments.model == STDIN:
        raise UsageError("a model is written to a file: -m - names none")
    checkpoint = None if arguments.checkpoint is None else f"{arguments.model}.checkpoint"
    check_paths(arguments.data, [arguments.model, checkpoint])
    for path in (arguments.model, checkpoint):
        if path is not None:
            check_writable(path)
    if not arguments.quiet:
        tell_repeated(arguments.data)
    learner = None if arguments.resume is None else resumed(arguments)
    with usage_checked():
        rule, training = chosen_options(arguments, learner)
        options = Reading(**given(arguments, Reading)), Resources(**given(arguments, Resources))
        sharing = Sharing(**given(arguments, Sharing))
        for name in given(arguments, Sharing) if not sharing.wanted else ():
            raise UsageError(f"{flag(name)} is for several workers: add --workers N or --scheduler ADDRESS")
    before = learner.statistics if learner else new_statistics()
    start = time.perf_counter()
    told: Run | ShardResult
    if sharing.wanted:
        learner, told = learn_in_shards(arguments, sharing, rule, training, *options, learner)
    else:
        learner, told = learn_alone(arguments, rule, training, *options, learner, checkpoint)
    for path in {checkpoint, arguments.resume} & {f"{arguments.model}.checkpoint"}:
        remove_checkpoint(path)
    updates, mistakes, unsolved = (
        learner.statistics["updates"] - before["updates"],
        learner.statistics["mistakes"] - before["mistakes"],
        learner.statistics["unsolved"] - before["unsolved"],
    )
    if not updates:
        hint = " (--confidence 0.5 never does)" if hasattr(learner.rule, "confidence") else ""
        say(f"warning: nothing was learned: no row asked for a change of the model{hint}")
    if len(learner.classes) > max(20, told.rows // 2):
        say(f"warning: {len(learner.classes):,} labels in {told.rows:,} rows: are they classes?")
    if unsolved:
        say(f"warning: exact updates that did not become exact enough in time: {unsolved:,}")
    report = {
        "model": arguments.model,
        "task": learner.rule.task,
        "algorithm": learner.rule.name,
        "rows": told.rows,
        "nonzeros": told.nonzeros,
        "features": learner.state.n_features,
        "labels": learner.label_names,
        "updates": updates,
        "mistakes": mistakes if len(learner.classes) else None,
        "progressive_error": learner.progressive_error(before),
        "unsolved_updates": unsolved,
        "epochs": training.epochs,
        "bad_lines": told.bad_lines,
        "shards_left_out": [*told.failures.values()] if isinstance(told, ShardResult) else [],
        "seconds": time.perf_counter() - start,
    }
    if arguments.json:
        put_json(report)
    elif not arguments.quiet:
        regression = learner.rule.task == "regression"
        what, labels = ("regression", "") if regression else ("model", f", labels {listed(learner.label_names)}")
        wrong = "root mean squared error" if regression else f"{mistakes:,} mistakes"
        put(f"{arguments.model}: {learner.rule.name} {what} of {report['features']:,} features{labels}")
        put(
            f"{told.rows:,} rows, {told.nonzeros:,} nonzeros, {training.epochs} "
            f"{'epoch' if training.epochs == 1 else 'epochs'}, {report['seconds']:.2f} s; "
            f"progressive error {report['progressive_error']:.4f} ({wrong}, {updates:,} updates)"
        )


def remove_checkpoint(path: str) -> None:
    """It has served its purpose: the model is saved."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        say(f"warning: {shown(path)} could not be removed: {reason(error)}")


def resumed(arguments: argparse.Namespace) -> Learner:
    """The model to go on with.  It may take what weights may take in training, and what any other may that is read."""
    most = max(getattr(arguments, "memory", None) or 0, free_memory() // 2)
    if os.path.isfile(arguments.resume):
        most = max(most, model_file.usual_memory(os.path.getsize(arguments.resume)))
    return model_file.load(arguments.resume, most)


def learn_alone(
    arguments: argparse.Namespace,
    rule: Rule,
    training: Training,
    reading: Reading,
    resources: Resources,
    learner: Learner | None,
    checkpoint: str | None,
) -> tuple[Learner, Run]:
    """Train one model on all rows, and save it; say what was kept of it if that is interrupted."""
    table = arguments.verbose and not arguments.quiet
    monitor = TerminalMonitor(arguments.quiet or arguments.json, table, checkpoint, arguments.checkpoint or 0)
    run = Run(arguments.data, rule, training, reading, resources, labels_for(rule, arguments.labels), learner, monitor)
    if learner is not None and learner.unfinished is not None:
        take_up(learner.unfinished, run, arguments.force)
    try:
        with monitor.heeding_ctrl_c():
            learner = run.train()
            monitor.ended(run)
            save_model(learner, arguments.model)
    except KeyboardInterrupt:
        say(what_was_kept(run, monitor, checkpoint, arguments.model))
        raise
    return learner, run


def chosen_options(arguments: argparse.Namespace, learner: Learner | None) -> tuple[Rule, Training]:
    """The rule and the training that the flags ask for, or that the model to go on with has."""
    task = arguments.task or (learner.rule.task if learner else "classification")
    name = arguments.algorithm or (learner.rule.name if learner and learner.rule.name in TASKS[task] else DEFAULT_RULE)
    if name not in TASKS[task]:
        raise UsageError(f"--task {task} is there for the algorithm {listed([*TASKS[task]])}, not for {name}")
    chosen = TASKS[task][name]
    if task == "regression":
        for of_labels in ("n_constraints", "multiclass_update", "labels"):
            if getattr(arguments, of_labels, None) is not None:
                raise UsageError(f"{flag(of_labels)} is not for --task regression, which has no labels")
    wanted = given(arguments, chosen)
    for other in RULES.values():
        for item in fields(other):
            if hasattr(arguments, item.name) and item.name not in {own.name for own in fields(chosen)}:
                names = ", ".join(flag(own.name) for own in fields(chosen)) or "none"
                of = name if task == "classification" else f"{name} for {task}"
                raise UsageError(f"{flag(item.name)} is not a parameter of {of}, whose parameters are: {names}")
    shared = {name: value for name, value in given(arguments, Training).items() if name != "verbose"}  # a flag of ours
    if learner is not None:
        if learner.kernel is not None:
            raise ModelError(f"{shown(arguments.resume)}: a model with a kernel can go on in Python only")
        differences = [] if name == learner.rule.name else [f"algorithm {learner.rule.name}, not {name}"]
        if task != learner.rule.task:
            differences.append(f"--task {learner.rule.task}, not {task}")
        if arguments.labels is not None and sorted(arguments.labels) != learner.classes.tolist():
            names = listed([*arguments.labels.values()])
            differences.append(f"--labels {listed(learner.label_names)}, not {names}")
        if wanted.get("covariance", learner.rule.covariance) != learner.rule.covariance:
            differences.append(f"--covariance {learner.rule.covariance}, not {wanted.pop('covariance')}")
        hash_bits = given(arguments, Resources).get("hash_bits")
        if hash_bits is not None and hash_bits != learner.hash_bits:
            differences.append(f"--hash-bits {learner.hash_bits or 'none'}, not {hash_bits}")
        fixed = bool(differences)  # not even --force can change what the state is built of
        for options, values in ((learner.rule, wanted), (learner.training, shared)):
            differences += [
                f"{flag(key)} {written(getattr(options, key), key)}, not {written(value, key)}"
                for key, value in values.items()
                if hasattr(options, key) and key not in ("epochs", "shuffle") and getattr(options, key) != value
            ]
        if differences and (fixed or not arguments.force):
            hint = ", which cannot change any more" if fixed else "; --force goes on all the same"
            raise ModelError(f"{shown(arguments.resume)}: was trained with {'; '.join(differences)}{hint}")
        wanted = {**{item.name: getattr(learner.rule, item.name) for item in fields(learner.rule)}, **wanted}
        shared = {**{key: getattr(learner.training, key) for key in BUILT_WITH}, **shared}
    epochs = shared.setdefault("epochs", chosen.default_epochs)
    shared.setdefault("shuffle", epochs > 1)
    rule, training = chosen(**wanted), Training(random_state=arguments.seed, **shared)
    check_update(rule, training)  # before any data are read
    return rule, training


def take_up(unfinished: dict[str, Any], run: Run, force: bool) -> None:
    """A checkpoint goes on only with the run that it is a part of; forced, it begins the data anew."""
    now = {**run.progress(), "memory": run.resources.memory if unfinished["memory"] else None}
    ignored = ["done", "lines", "checksum", "max_bad", *([] if now["memory"] else ["memory"])]
    differences = [
        f"{name} {json.dumps(unfinished.get(name))}, now {json.dumps(now[name])}"
        for name in now
        if name not in ignored and unfinished.get(name) != now[name]
    ]
    if differences and not force:
        raise ModelError(
            f"the checkpoint belongs to another run: {'; '.join(differences)}. With --force these data are learned "
            f"from as new ones"
        )
    if not differences:
        run.take_up(unfinished, force)


def what_was_kept(run: Run, monitor: TerminalMonitor, checkpoint: str | None, model: str) -> str:
    text = f"interrupted after {run.done:,} rows; "
    text += f"{shown(model)} is as it was" if os.path.exists(model) else f"there is no {shown(model)}"
    learned_more = run.learner is not None and run.done > monitor.kept
    if checkpoint is not None and learned_more and not monitor.torn:
        try:
            monitor.save(run)
        except (OSError, MemoryError) as error:
            text += f"; {shown(checkpoint)} could not be written: {reason(error)}"
    if checkpoint is not None and monitor.kept:
        text += (
            f"; what {monitor.kept:,} rows have taught is in {shown(checkpoint)}: the same command with --resume "
            f"{shown(checkpoint)} goes on"
        )
    elif checkpoint is None:
        text += "; --checkpoint MINUTES would have kept what was learned"
    return text
