"""Model files: a sealed archive of a JSON header, the arrays of the state and the names of the features.

`State.arrays` defines the arrays of each kind of state.  `sealed_archive` defines the form of the file and detects
damage.  `atomic_file` guarantees that the final name always has a whole model, the old one or the new one.

A model may need far more memory than its file, which may hold only the touched weights.  So the memory is computed
first, and a file that needs more than `max_memory` is refused.  The default is USUAL_MEMORY plus USUAL_TIMES its size.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn._version import __version__
from cwlearn.core import calibration, sealed_archive
from cwlearn.core.class_labels import as_json, from_json, json_value
from cwlearn.core.journal_mark import JournalMark
from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import SIZE, is_number, require
from cwlearn.core.rules import TASKS
from cwlearn.core.states.base import LARGE, Arrays, Stored
from cwlearn.core.states.diagonal import DiagonalState
from cwlearn.core.statistics import statistics_from_record
from cwlearn.core.text_options import TextOptions
from cwlearn.core.training import Training
from cwlearn.errors import ModelError, listed
from cwlearn.utils.atomic_file import replaced_file
from cwlearn.utils.regular_file import open_regular

FORMAT = "cwlearn model"
VERSION = 2  # of the layout below; a release reads its own version and all earlier ones
VERSION_OF_NUMBERS = 1  # of models that have learned rows of numbers, which earlier releases read, too
MOST_COUNT = 2**32 - 1  # of documents with a feature
FREQUENCIES = ("frequency_columns", "frequency_counts")  # of features in documents
HEADER_LIMIT = 1 << 30
REASON_LENGTH = 1000  # the longest reason in an error, which may quote the file
USUAL_MEMORY, USUAL_TIMES = 1 << 30, 8
JSON_TIMES = 32  # the most bytes in memory for a byte of JSON
NAME_BYTES = 96  # memory of a feature's name beside its text
BLOCK_BYTES = 1024  # memory of a label's block in a kernel state
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
NAMES = re.compile(rf"null|\[(?:{_STRING}(?:, {_STRING})*+)?+\]")  # the names of features


def save(learner: Learner, path: str | os.PathLike[str]) -> None:
    """Write the learner to `path`.  An old file is replaced only when the new one is whole."""
    with learner.lock:  # no other thread learns meanwhile
        members = _members(learner)
        with replaced_file(path) as file:
            sealed_archive.write(file, members)


def _members(learner: Learner) -> dict[str, NDArray[Any]]:
    """The arrays of a file."""
    header = json.dumps(_header(learner), ensure_ascii=True).encode("ascii")
    if len(header) > HEADER_LIMIT:
        raise ModelError(f"cannot save it: labels and options take {len(header):,} bytes, {HEADER_LIMIT:,} at most")
    arrays = learner.state.arrays()
    return {
        "header": np.frombuffer(header, np.uint8),
        **{
            name: array.astype(array.dtype.newbyteorder("<"), copy=False)
            for name, array in {**arrays, **_frequency_arrays(learner)}.items()
        },
        "names": np.frombuffer(json.dumps(_names(learner)).encode("ascii"), np.uint8),
    }


def load(path: str | os.PathLike[str], max_memory: int | None = None) -> Learner:
    """Read a learner.  A file that is not a sound model, or needs too much memory, is a ModelError that names it."""
    with opened(path, max_memory) as model:
        return model.restored()


@dataclass(eq=False, repr=False)
class OpenModel:
    """An open model file: a learner without the numbers of its state, and these numbers, still in the file."""

    learner: Learner  # without features
    n_features: int
    arrays: Arrays
    budget: Budget

    def restored(self) -> Learner:
        """The whole learner; ValueError says what is wrong."""
        learner, state = self.learner, self.learner.state
        state.check_layouts(self.n_features, self.arrays)
        size = state.restored_bytes(self.n_features, self.arrays)
        self.budget.take(size * (2 if learner.derives else 1), f"the weights of its {self.n_features:,} features")
        state.restore(self.n_features, self.arrays)
        if isinstance(state, DiagonalState) and state.stamps.max(initial=0) > learner.statistics["rows"]:
            raise ValueError("its stamps are later than its last row")
        return learner


@contextmanager
def opened(path: str | os.PathLike[str], max_memory: int | None = None) -> Iterator[OpenModel]:
    """A model whose state is still in the file.  An error, now or while it is read, is a ModelError that names it."""
    if max_memory is not None:
        require("max_memory", max_memory, SIZE)
    try:
        with open_regular(path, ModelError) as file:
            sealed_archive.check_seal(file)
            yield _model(sealed_archive.members(file), Budget(os.fstat(file.fileno()).st_size, max_memory))
    except MemoryError:
        raise
    except ModelError as error:
        raise ModelError(f"{os.fspath(path)}: {error}") from None
    except Exception as error:  # a sealed file of nonsense can raise almost anything in zipfile, json and NumPy
        # zipfile may hide an error of the disk.  EINVAL and EOVERFLOW come from bad offsets in the file, not from it.
        fault = error if isinstance(error, OSError) else error.__context__
        if isinstance(fault, OSError) and fault.errno not in (None, errno.EINVAL, errno.EOVERFLOW):
            raise OSError(fault.errno, fault.strerror, os.fspath(path)) from None
        reason = str(error)[:REASON_LENGTH] or type(error).__name__
        raise ModelError(f"{os.fspath(path)}: not a sound cwlearn model: {reason}") from None


def memory_of(learner: Learner) -> int:
    """The memory that its weights take when a file of them is read, and those that it predicts with if they differ."""
    return learner.state.restored_bytes(learner.state.n_features, {}) * (2 if learner.derives else 1)


def usual_memory(size: int) -> int:
    """The default limit for the memory of a file of `size` bytes."""
    return USUAL_MEMORY + USUAL_TIMES * size


class Budget:
    """The memory that a model may take, and what it has taken so far."""

    def __init__(self, size: int, limit: int | None = None) -> None:
        self._size, self._limit = size, usual_memory(size) if limit is None else limit
        self._taken = 0

    def take(self, size: int, what: str) -> None:
        """Count `size` bytes; refuse more than the limit, but never a few megabytes."""
        self._taken += size
        if self._taken > max(self._limit, LARGE):
            raise ModelError(
                f"a file of {self._size:,} bytes, but {what} need {self._taken:,} bytes of memory, more than "
                f"the {self._limit:,} allowed; `max_memory='{-(-self._taken >> 20)}M'` allows it"
            )


def _model(members: dict[str, sealed_archive.Member], budget: Budget) -> OpenModel:
    """Read and check everything except the arrays of the state."""
    if not {"header", "names"} <= members.keys():
        raise ModelError(f"unexpected members {[*members][:5]}")
    header = _read_header(members.pop("header"), budget)
    names = members.pop("names")
    frequencies = {name: members.pop(name) for name in FREQUENCIES if name in members}
    learner = _new_learner(header, budget)
    if sorted(members) != sorted(learner.state.arrays_of):
        raise ModelError(f"unexpected members {[*members][:5]}")
    model = _filled(learner, header, members, names, budget)
    _read_frequencies(learner, header, frequencies, budget)
    return model


def _header(learner: Learner) -> dict[str, Any]:
    rule = {"name": learner.rule.name, **asdict(learner.rule)}
    if isinstance(rule.get("class_weight"), dict):
        rule["class_weight"] = [[json_value(label), float(weight)] for label, weight in rule["class_weight"].items()]
    training = asdict(learner.training)
    if not isinstance(training["random_state"], (int, np.integer, type(None))):
        training["random_state"] = None  # the state of a generator is not saved
    return {
        "format": FORMAT,
        "version": VERSION_OF_NUMBERS if learner.documents is None else VERSION,
        "written_by": __version__,
        "task": learner.task,
        "rule": {name: json_value(value) for name, value in rule.items()},
        "kernel": learner.kernel and {name: json_value(value) for name, value in asdict(learner.kernel).items()},
        "training": {name: json_value(value) for name, value in training.items()},
        "labels": {
            **as_json(learner.classes),
            "texts": learner.label_texts,
        },
        "prior": {"mean": learner.origin, "variance": learner.state.initial_variance},
        "n_features": learner.state.n_features,
        "hash_bits": learner.hash_bits,
        "documents": _documents(learner),
        "tally": dict(learner.statistics),
        **_calibration(learner),
        "unfinished": learner.unfinished,
        "journal": learner.journal and learner.journal.record(),
    }


def _calibration(learner: Learner) -> dict[str, Any]:
    """What scores are worth: one record, or one for each label if a row may have several."""
    records = [None if known is None else known.record() for known in learner.calibrations]
    return {"calibrations": records} if learner.multilabel else {"calibration": records[0]}


def _read_calibration(learner: Learner, header: dict[str, Any]) -> None:
    records = header["calibrations"] if learner.multilabel else [header.get("calibration")]  # version 1 had none
    learner.set_calibrations(calibration.from_records(records, len(learner.calibrations)))


def _documents(learner: Learner) -> dict[str, Any] | None:
    """What is known of documents, without the frequencies of their features."""
    if learner.documents is None:
        return None
    return {
        **learner.documents.record(),
        "n_documents": learner.frequencies.n_documents if learner.frequencies else 0,
        "words": [*map(list, learner.words.items())],
    }


def _frequency_arrays(learner: Learner) -> dict[str, NDArray[Any]]:
    """The features that occur in documents, and in how many."""
    if learner.frequencies is None:
        return {}
    columns = np.flatnonzero(learner.frequencies.counts)
    return dict(zip(FREQUENCIES, (columns, learner.frequencies.counts[columns].astype(np.int64)), strict=True))


def _read_frequencies(learner: Learner, header: dict[str, Any], stored: Mapping[str, Stored], budget: Budget) -> None:
    documents = learner.documents
    if documents is None or not documents.idf:
        if stored:
            raise ValueError(f"unexpected members {[*stored]}")
        return
    n_documents = header["documents"].get("n_documents")
    if len(stored) < len(FREQUENCIES) or not _is_count(n_documents):
        raise ValueError("its frequencies of features are incomplete")
    columns, counts = (stored[name] for name in FREQUENCIES)
    budget.take((4 << learner.hash_bits) + 16 * len(columns), "the frequencies of its features")
    columns, counts = columns[:], counts[:]
    if (
        columns.dtype != np.int64
        or counts.dtype != np.int64
        or columns.ndim != 1
        or columns.shape != counts.shape
        or (np.diff(columns) <= 0).any()
        or (len(columns) and not 0 <= columns[0] <= columns[-1] < 1 << learner.hash_bits)
        or (len(counts) and not 0 < int(counts.min()) <= int(counts.max()) <= min(n_documents, MOST_COUNT))
    ):
        raise ValueError("its frequencies of features are not sound")
    learner.set_documents(documents, learner.hash_bits)
    assert learner.frequencies is not None
    learner.frequencies.counts[columns] = counts
    learner.frequencies.n_documents = n_documents


def _names(learner: Learner) -> list[str] | None:
    return None if learner.feature_names is None else learner.feature_names.tolist()


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name stands twice in the header")
    return dict(pairs)


def _read_header(member: Stored, budget: Budget) -> dict[str, Any]:
    if len(member) > HEADER_LIMIT:
        raise ValueError(f"its header is larger than {HEADER_LIMIT} bytes")
    budget.take(JSON_TIMES * len(member), "the texts of its header")
    header: dict[str, Any] = json.loads(_text(member), object_pairs_hook=_no_duplicates)
    if header["format"] != FORMAT:
        raise ValueError(f"its format is {header['format']!r}")
    if header["version"] not in range(1, VERSION + 1):
        raise ValueError(
            f"its format is version {header['version']!r}, written by cwlearn {header['written_by']}; "
            f"cwlearn {__version__} reads versions up to {VERSION}"
        )
    return header


def _text(member: Stored) -> str:
    if member.dtype != np.uint8 or len(member.shape) != 1:
        raise ValueError(f"a text is {member.dtype} {member.shape}")
    return str(member[:].data, "ascii")


def _new_learner(header: dict[str, Any], budget: Budget) -> Learner:
    """A learner with the options of the file, and no features yet."""
    parameters = dict(header["rule"])
    multilabel = header["task"] == "multilabel"
    name, task = parameters.pop("name"), "classification" if multilabel else header["task"]
    if task not in TASKS or name not in TASKS[task]:
        names = ", ".join(sorted(TASKS.get(task, TASKS)))
        raise ValueError(f"its rule is {name!r}, its task {task!r}; known are {names}")
    if isinstance(parameters.get("class_weight"), list):
        parameters["class_weight"] = dict(parameters["class_weight"])
    kernel = header["kernel"]
    return Learner(
        TASKS[task][name](**parameters),
        Training(**header["training"]),
        _labels(header["labels"], task, budget, 0 if kernel is None else BLOCK_BYTES, 1 if multilabel else 2),
        0,
        None if kernel is None else KernelOptions(**kernel),
        multilabel,
    )


def _filled(learner: Learner, header: dict[str, Any], arrays: Arrays, names: Stored, budget: Budget) -> OpenModel:
    """The learner with everything that is not in its state."""
    n_features = header["n_features"]
    if not _is_count(n_features):
        raise ValueError(f"its number of features is {n_features!r}")
    origin = header["prior"]["mean"]
    if header["prior"] != {"mean": origin, "variance": learner.state.initial_variance} or not is_number(origin):
        raise ValueError(f"its prior {header['prior']} does not fit its parameters")
    learner.origin = float(origin)
    learner.feature_names = _read_names(names, n_features, budget)
    learner.statistics = statistics_from_record(header["tally"])
    _read_calibration(learner, header)
    learner.label_texts = _texts(header["labels"]["texts"], len(learner.classes))
    learner.hash_bits = _hash_bits(header["hash_bits"], n_features)
    if header.get("documents") is not None:  # version 1 had none
        documents = dict(header["documents"])
        learner.words = _words(documents.pop("words", None), n_features)
        documents.pop("n_documents", None)
        learner.documents = TextOptions.from_record(documents)
        if not learner.hash_bits:
            raise ValueError("it has learned documents, and its columns are no hashes")
    learner.unfinished = _unfinished(header["unfinished"])
    learner.journal = JournalMark.from_record(header.get("journal"))
    return OpenModel(learner, n_features, arrays, budget)


def _read_names(member: Stored, n_features: int, budget: Budget) -> NDArray[Any] | None:
    text = _text(member)
    budget.take(3 * len(text) + NAME_BYTES * text.count('"') // 2, "the names of its features")
    if not NAMES.fullmatch(text):
        raise ValueError("the names of its features are not strings")
    names = json.loads(text)
    if names is not None and len(names) != n_features:
        raise ValueError(f"it has {len(names)} names for its {n_features} features")
    return None if names is None else np.array(names, object)


def _labels(stored: dict[str, Any], task: str, budget: Budget, more: int, least: int) -> NDArray[Any]:
    """The labels of a file, `least` or more; each takes `more` bytes beside its own."""
    values = stored["values"]
    if task == "regression":
        if values:
            raise ValueError(f"a regression has no labels, found {listed(values)}")
        return np.empty(0)
    return from_json(stored, lambda size: budget.take(size + more * len(values), f"its {len(values):,} labels"), least)


def _words(pairs: Any, n_features: int) -> dict[int, list[str]]:
    sound = isinstance(pairs, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and _is_count(pair[0])
        and pair[0] < n_features
        and isinstance(pair[1], list)
        and pair[1]
        and all(isinstance(word, str) for word in pair[1])
        for pair in pairs
    )
    if not sound:
        raise ValueError("the words of its columns are not sound")
    return dict(pairs)


def _texts(texts: Any, count: int) -> list[str] | None:
    if texts is None:
        return None
    if not (isinstance(texts, list) and len(texts) == count and all(isinstance(text, str) for text in texts)):
        raise ValueError(f"its texts of labels are {texts}")
    return texts


def _unfinished(run: Any) -> dict[str, Any] | None:
    if run is None:
        return None
    if not isinstance(run, dict) or not all(map(_is_count, [run["done"], run["memory"] or 0])):
        raise ValueError(f"its record of an unfinished run is {run}")
    return run


def _is_count(number: Any) -> bool:
    return type(number) is int and 0 <= number < 2**63


def _hash_bits(bits: Any, n_features: int) -> int:
    if type(bits) is not int or bits not in range(63) or (bits and n_features != 1 << bits):
        raise ValueError(f"its hashes of {bits} bits do not fit its {n_features} features")
    return bits
