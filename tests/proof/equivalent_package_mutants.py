"""Mutants of Python code that no test of results could notice, and why; see `package_mutants.py`."""

from __future__ import annotations

from tests.proof.equivalent_mutants import Equivalent

SPARE = "another amount of spare memory, with the same numbers in it"
UNUSED = "computes what nothing uses"
LOOK = "how wide a column of a help text is, or where a chart has its ticks and names"
OTHER_WAY = "leaves a short way; the long one gives the same"
GUARD = "a guard that no caller reaches"
CLEANED = "what is too much is thrown away afterwards"
FALSE = "None is as false"
BUFFER = "another name of a buffer, which no other has"
BORDER = "a number that no data have to the last bit"

EQUIVALENT = [
    Equivalent("cli.answers.Answers._best", "chances[np.arange(", ("2 -> 3",), "any number above 1 is the highest"),
    Equivalent("cli.parser._Formatter.__init__", "super().__init__", ("28 -> 29",), LOOK),
    Equivalent("cli.train._has_documents", "return False", (), "such data are refused by what comes next"),
    Equivalent("cli.train_options.wants_race", "return False", ("return False -> return None #2",), FALSE),
    Equivalent(
        "core.field.options_of",
        "if not 1e-100 <",
        ("1e-100 < unit * training.initial_variance < 1e+100 -> 1e-100 <= unit * training.initial_variance < 1e+100",),
        BORDER,
    ),
    Equivalent("bounds.cw_bound", "u = u / max(", ("0 -> 1",), "any number by which u is scaled once more"),
    Equivalent(
        "bounds.cw_bound",
        "u = u * float(",
        (
            "(run.margins_after[run.updated] / margins).max(initial=0) -> "
            "(run.margins_after[run.updated] / margins).max()",
        ),
        "margins behind an update are above 0",
    ),
    Equivalent("displays.WeightsDisplay.plot", "ax.axvline(", ("0.8 -> 0.8800000000000001",), "how thick a line is"),
    Equivalent("estimators.base.OnlineEstimator._options", "parameters = ", (), "names with __ are no options"),
    Equivalent("estimators.base.OnlineEstimator._needs_no_validation", "return", (), OTHER_WAY),
    Equivalent(
        "estimators.classifier._distinct",
        "found = not ",
        ("others != two[-1] -> others == two[-1]",),
        "a sort finds the same labels",
    ),
    Equivalent(
        "estimators.multilabel.MultiLabelClassifier.partial_fit",
        "if first and",
        ("'tocsr' -> 'tocsrX'",),
        "the labels of an indicator matrix are its columns",
    ),
    Equivalent("estimators.vectorizer._size", "return", (), "how many threads are worth their while"),
    Equivalent("evaluation.charts._labels", "return", ("8 -> 9",), LOOK),
    Equivalent("evaluation.charts._tick_values", "step = ", ("2 -> 3",), LOOK),
    Equivalent("evaluation.candidates.RuleCandidate.exclusion_reason", "return ''", (), FALSE),
    Equivalent(
        "export.c_source._quoted",
        "plain = ",
        ("b'\"\\\\?' -> b'\"\\\\?X'", "'backslashreplace' -> 'backslashreplaceX'"),
        "an X by its number is an X, and no label has a lone surrogate",
    ),
    Equivalent("utils.signals.Terminated.__init__", "super().__init__", (), "Python keeps the arguments by itself"),
    Equivalent(
        "utils.atomic_file._Target._remove_if_stale",
        "descriptor = ",
        ("os.O_WRONLY | os.O_NONBLOCK -> os.O_WRONLY & os.O_NONBLOCK",),
        "a regular file, which is locked however it is open",
    ),
    Equivalent("core.merging.merge", "total, in_sum = ", ("0 -> 1",), "one feature that nobody has touched"),
    Equivalent("core.merging._restore_diagonal", "diagonal[abs(", ("ROUNDED * value -> ROUNDED / value",), BORDER),
    Equivalent(
        "core.model.Model.predictions",
        "numbers[which] = ",
        ("self.margins(part, only_mean=self.several) -> self.margins(part)",),
        UNUSED,
    ),
    Equivalent("core.model_file._new_learner", "return Learner(", ("0 -> 1",), "the file says how many columns follow"),
    Equivalent("core.one_row.columns_and_values", "if x.indptr.tolist() == ", ("0 -> 1",), OTHER_WAY),
    Equivalent("core.queries.Pool.add", "break", (), CLEANED),
    Equivalent("core.rows._csr_parts", "if X.format != 'csr'", ("'csr' -> 'csrX'",), OTHER_WAY),
    Equivalent(
        "core.rows._few",
        "if len(places) != shape[0] + 1",
        ("len(places) != shape[0] + 1 -> len(places) == shape[0] + 1",),
        OTHER_WAY,
    ),
    Equivalent("core.rule.Rule.begins_at_target", "return False", (), FALSE),
    Equivalent("core.rule.Rule.weights", "raise NotImplementedError", (), GUARD),
    Equivalent(
        "core.sealed_archive._Directory.read", "data = ", ("size < 0 -> size <= 0",), "zipfile never asks for 0 bytes"
    ),
    Equivalent(
        "core.sealed_archive.write",
        "np.lib.format.write_array",
        (
            "np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False) -> "
            "np.lib.format.write_array(member, array, allow_pickle=False)",
        ),
        "NumPy writes this version by itself",
    ),
    Equivalent(
        "core.states.projected.ProjectedState._learn_row",
        "cells[0] = view.means",
        ("0 -> 1 #2",),
        "times a length of 0",
    ),
    Equivalent("core.states.kernel.KernelState.effort", "return", (), "how often signals are looked for"),
    Equivalent("text.choosing.choose_by_text", "raise", (), "the training meets the same error"),
    Equivalent("text.choosing.choose_by_text", "learner = ", ("0 -> 1",), "it only names labels by numbers"),
    Equivalent("text.chunks.end_of_last_line", "reach *= 16", (), "looks farther back, for the same line end"),
    Equivalent(
        "text.feedback.Feedback._fits",
        "return int(last[",
        ("1 -> 2",),
        "any number below 0 is below all numbers of features",
    ),
    Equivalent("text.matrices.read_svmlight", "fraction = ", (), SPARE),
    Equivalent(
        "text.matrices._without_columns_from",
        "indices = ",
        ("n_features <= 2 ** 31 -> n_features < 2 ** 31", "False -> True"),
        "either type holds these columns, copied or not",
    ),
    Equivalent("text.records.Csv.missing_flaw", "label = ", ("b'-' -> b'-X'",), "any text that is no empty label"),
    Equivalent("text.records.Fields.of", "return cls(", ("'scratch' -> 'scratchX'",), BUFFER),
    Equivalent("text.row_store.DiskStore._window", "total, added = ", ("0 -> 1",), "a byte more of megabytes"),
    Equivalent(
        "text.run.Run._read_into_store",
        "if isinstance(store, MemoryStore)",
        ("store.nbytes > self._memory -> store.nbytes >= self._memory",),
        BORDER,
    ),
    Equivalent("text.svmlight.SvmlightParser.label_text_at", "return", ("1 -> 2",), "the first word is the same"),
    Equivalent("text.vw.VwParser._arrays", "arrays = ", ("'label_stops' -> 'label_stopsX'",), BUFFER),
    Equivalent("parallel.shards.train", "break", (), "what is asked again gets the same answer"),
    Equivalent(
        "utils.growable.GrowableArray.extended",
        "if size > len(self._memory)",
        ("size > len(self._memory) -> size >= len(self._memory)",),
        SPARE,
    ),
    Equivalent(
        "utils.growable.GrowableArray.extended",
        "self._move(",
        ("self.size + self.size // 2 -> self.size - self.size // 2", "self.size // 2 -> self.size / 2", "2 -> 3"),
        SPARE,
    ),
    Equivalent(
        "core.draws.drawn_scores", "one[:] = scorer.margins(narrow, model.bias, False", ("True -> False",), UNUSED
    ),
    Equivalent("core.explaining.percent", "return '> 99.999 %'", ("0.5 -> 0.55",), "it is nearly 0 or nearly 1 there"),
    Equivalent("core.explanation_page._item", "rest.append(Line('(intercept)'", ("'0%' -> '0%X'",), UNUSED),
    Equivalent("core.explanation_page._shades", "largest = ", ("1.0 -> 1.1",), "all amounts are 0 then"),
    Equivalent("core.states.base.scratch_of", "lines = ", ("4 -> 5",), SPARE),
    Equivalent("export.source._decimal", "return text if any", ("'.en' -> '.enX'",), "no number has this letter"),
]
