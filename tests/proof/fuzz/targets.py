"""What is done with an input of the fuzzer.  A target returns, or raises something that no input may bring about.

Each takes the bytes apart itself, so that an input means the same with and without the fuzzer.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import marshal
import math
import os
import tempfile
import zlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from cwlearn.core import model_file, rules, sealed_archive
from cwlearn.core.learner import Learner
from cwlearn.core.rows import Rows, as_rows
from cwlearn.core.training import Training
from cwlearn.errors import DataError, ModelError
from cwlearn.text._svmlight import PADDING
from cwlearn.text.batch import Batch, Buffers
from cwlearn.text.chunks import Chunk
from cwlearn.text.reader import Reader, Reading
from cwlearn.text.sources import Source
from cwlearn.text.svmlight_errors import find_flaw
from tests.proof.fuzz import record_targets

_FOLDER = tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)  # goes when Python ends
PATH = os.path.join(_FOLDER.name, "input")


class Bytes:
    """Numbers out of bytes, and then what is left; zeros when there is nothing left."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    def number(self, size: int = 1, signed: bool = False) -> int:
        part = self._data[self._place : self._place + size]
        self._place += size
        return int.from_bytes(part.ljust(size, b"\0"), "little", signed=signed)

    def below(self, limit: int) -> int:
        return self.number() % limit

    def rest(self) -> bytes:
        part, self._place = self._data[self._place :], len(self._data)
        return part

    def take(self, size: int) -> bytes:
        part = self._data[self._place : self._place + size]
        self._place += size
        return part


def _write(text: bytes) -> None:
    with open(PATH, "wb", buffering=0) as file:
        file.write(text)


def _one_of(number: int, data: bytes) -> bool:
    """Whether this is one of so many inputs, for what would take too long with each."""
    return zlib.crc32(data) % number == 0


def text(data: bytes) -> None:
    """Read svmlight text.  What the fast parser says of plain lines is what the slow one in words says.

    Most inputs are one chunk in memory; some are files, and go through all of the reader in chunks of any size.
    """
    source = Bytes(data)
    choices, chunk_bytes = source.number(2), 8 + source.number()
    reader = _reader(choices, chunk_bytes)
    body = source.rest()
    rows, fault = 0, None
    in_file = _one_of(100, data)
    try:
        for batch in _from_file(reader, body) if in_file else _from_memory(reader, body):
            _examine(batch)
            rows += batch.rows.n_rows
    except DataError as error:
        fault = error
    reading = reader.reading
    if _one_of(3, data[::-1]) and _plain(body) and reading.max_line > len(body):
        lines = (body if in_file and body[-1:] in (b"", b"\n") else body + b"\n").splitlines(keepends=True)
        grammar = reader._parser(body).grammar
        if grammar.labelled:
            lines = [line for line in lines if line.strip() and not line.lstrip().startswith(b"#")]
        sound = [line for line in lines if find_flaw(line, grammar) is None]
        if fault is None and reading.on_bad_line == "error":
            assert rows == len(lines) == len(sound)
        elif fault is not None and len(sound) == len(lines):
            assert "out of range" in str(fault), fault


@functools.lru_cache(1000)
def _reader(choices: int, chunk_bytes: int) -> Reader:
    reading = Reading(
        unsorted=("error", "sort")[choices // 3 % 2],
        on_bad_line="skip" if choices // 6 % 8 == 0 else "error",
        max_line=(1 << 30, 64)[choices // 48 % 2],
        format="svmlight",
    )
    hash_bits = (0, 4, 40)[choices // 96 % 3]
    dtype = ("float32", "float64")[choices // 288 % 2]
    queries, labelled = bool(choices // 576 % 2), choices // 1152 % 4 != 3
    return Reader(
        PATH,
        reading,
        dtype=dtype,
        labelled=labelled,
        queries=queries,
        hash_bits=hash_bits,
        lowest_index=int(choices % 3 == 2),
        threads=1,
        chunk_bytes=chunk_bytes,
    )


def _from_file(reader: Reader, body: bytes) -> Iterator[Batch]:
    _write(body)
    yield from reader


def _from_memory(reader: Reader, body: bytes) -> Iterator[Batch]:
    """In memory that ends where the parser may not read on."""
    text = np.frombuffer(b"".join((bytes(PADDING), body, b"\n", bytes(PADDING))), np.uint8).copy()
    chunk = Chunk(text, len(text) - PADDING, Source(PATH), is_first=True, plain=True, position=len(body))
    batch = reader._parse(reader._parser(body), chunk, Buffers(text))
    yield batch
    if batch.fault:
        raise batch.fault


def _examine(batch: Batch) -> None:
    rows = batch.rows
    bounds, indices = rows.indptr.tolist(), rows.indices.tolist()
    assert bounds[0] == 0
    assert bounds[-1] == len(indices) == len(rows.values)
    assert bounds == sorted(bounds)
    assert not indices or 0 <= min(indices) <= max(indices) < rows.n_features
    assert all(map(math.isfinite, rows.values.tolist()))
    assert all(map(math.isfinite, batch.labels.tolist()))


def _plain(body: bytes) -> bool:
    """Text of which a line is a line whoever reads it."""
    return _ODD.isdisjoint(body) and body[:1] not in (b"\x1f", b"B", b"\xfd", b"(", b"\xef", b"\xff", b"\xfe")


_ODD = frozenset((0, 13, 26))


RULES = (
    rules.AROW(),
    rules.CW(form="variance"),
    rules.SOP(),
    rules.PassiveAggressive(average=True),
    rules.AROW(covariance="full"),
    rules.FTRL(l1=0.1),
)


def _learner(number: int, n_labels: int) -> Learner:
    learner = Learner(RULES[number], Training(), np.arange(n_labels), 3)
    X = np.array([[1.0, 0, 2], [0, 1, 0], [3, 0, 1], [1, 1, 1]])
    learner.learn(as_rows(X, learner.state.dtype), learner.encode(np.arange(4) % n_labels))
    return learner


def model(data: bytes) -> None:
    """Load a model: bytes as they are, or those of a sound file, some of them changed and sealed anew, so that they get
    past the checksum; or, without the archive, a sound header and sound arrays, one of them changed.  Some of those
    that load predict, learn, and give a model that loads."""
    source = Bytes(data)
    kind = source.below(8)
    try:
        if kind < 2:
            _write(source.rest() if kind == 0 else _resealed(source))
            learner = model_file.load(PATH)
        else:
            header, members = _sound_parts(source.below(len(RULES)), 2 + source.below(2))
            if kind < 5:
                header = _changed_header(header, source)
            else:
                _change_arrays(members, source)
            learner = _restored(header, members)
    except (ModelError, MemoryError):
        return
    if learner.state.n_features > 50 or not _one_of(4, data):
        return
    rows = _two_rows(learner.state.n_features, learner.state.dtype)
    learner.margins(rows)
    if not _one_of(16, data):
        return
    try:
        learner.learn(rows, np.zeros(2) if len(learner.classes) != 2 else np.ones(2))
    except DataError:
        return  # numbers so large that the next step would not be finite
    again = dict(model_file._members(learner))
    try:
        _restored(json.loads(again.pop("header").tobytes()), again)
    except ModelError as error:  # a forged matrix may be none of covariances, which only its factors would tell
        if not str(error).startswith("its covariances"):
            raise


@functools.cache
def _two_rows(n_features: int, dtype: Any) -> Rows:
    return as_rows(np.ones((2, n_features)), dtype)


def _restored(header: Any, arrays: dict[str, np.ndarray]) -> Learner:
    """What `load` does with what the archive holds."""
    try:
        budget = model_file.Budget(sum(array.nbytes for array in arrays.values()))
        learner = model_file._new_learner(header, budget)
        if sorted(arrays) != sorted(("names", *learner.state.arrays_of)):
            raise ValueError("unexpected members")
        copies = {name: array.copy() for name, array in arrays.items()}
        return model_file._filled(learner, header, copies, copies.pop("names"), budget).restored()
    except MemoryError:
        raise
    except Exception as error:
        raise ModelError(str(error)) from None


@functools.cache
def _sound(number: int, n_labels: int) -> dict[str, np.ndarray]:
    return model_file._members(_learner(number, n_labels))


def _sound_parts(number: int, n_labels: int) -> tuple[Any, dict[str, np.ndarray]]:
    """The header, and the arrays beside it."""
    arrays = dict(_sound(number, n_labels))
    del arrays["header"]
    return marshal.loads(_sound_header(number, n_labels)), arrays


@functools.cache
def _sound_header(number: int, n_labels: int) -> bytes:
    """In a form that is soon read."""
    return marshal.dumps(json.loads(_sound(number, n_labels)["header"].tobytes()))


@functools.cache
def _sound_file(number: int) -> bytes:
    stream = io.BytesIO()
    sealed_archive.write(stream, _sound(number, 2))
    return stream.getvalue()


def _resealed(source: Bytes) -> bytes:
    """The bytes of a sound file, some of them changed, with a seal that fits."""
    raw = bytearray(_sound_file(source.below(len(RULES))))
    for _ in range(1 + source.below(4)):
        raw[source.number(2) % len(raw)] = source.number()
    digest = hashlib.sha256(raw[: -sealed_archive.DIGEST_LENGTH]).hexdigest().encode("ascii")
    return bytes(raw[: -sealed_archive.DIGEST_LENGTH]) + digest


def _changed_header(header: dict[str, Any], source: Bytes) -> Any:
    """One entry of the header has another value, or the text of it has changed."""
    if source.below(4) == 0:
        raw = bytearray(json.dumps(header).encode())
        for _ in range(1 + source.below(4)):
            raw[source.number(2) % len(raw)] = source.number()
        try:
            return json.loads(raw)
        except ValueError:
            return header
    place, names = header, [*header]
    for _ in range(3):
        name = names[source.below(len(names))]
        inner = place[name]
        if isinstance(inner, dict) and inner and source.below(4):
            place, names = inner, [*inner]
        else:
            break
    odd = [None, -1, 0, 1e308, float("nan"), "x", "", 2**70, [], {}, True, [1, 2], "\U0001f600", 0.5, 1, 2]
    choice = source.below(len(odd) + 4)
    if choice < len(odd):
        place[name] = odd[choice]
    else:
        try:
            place[name] = json.loads(source.rest().decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            del place[name]
    return header


def _change_arrays(members: dict[str, np.ndarray], source: Bytes) -> None:
    """Change bytes, type or shape of one array."""
    names = [name for name in members if name != "header"]
    name = names[source.below(len(names))]
    array = members[name]
    how = source.below(3)
    if how == 0 and array.nbytes:
        raw = bytearray(array.tobytes())
        for _ in range(1 + source.below(4)):
            raw[source.number(2) % len(raw)] = source.number()
        members[name] = np.frombuffer(bytes(raw), array.dtype).reshape(array.shape)
    elif how == 1:
        dtype = ("f4", "f8", "i8", "u1", "<U3", "c16", "?")[source.below(7)]
        members[name] = np.zeros(array.shape, dtype)
    else:
        members[name] = np.zeros([source.below(5) for _ in range(source.below(4))], array.dtype)


DTYPES = ("i4", "i8", "u1", "u8", "f8", "?", "i2")


def csr(data: bytes) -> None:
    """Learn from and predict a matrix whose three arrays are anything."""
    source = Bytes(data)
    n_rows, n_features = (
        source.below(6),
        (source.below(8), 2**31, 2**62, -1)[source.below(4) if source.below(8) == 0 else 0],
    )
    given = SimpleNamespace(shape=(n_rows, n_features), format="csr", ndim=2)
    sizes = [n_rows + 1 + source.below(3) - 1, *([source.below(12)] * 2)]
    if source.below(4) == 0:
        sizes[2] = source.below(12)
    for name, size in zip(("indptr", "indices", "data"), sizes, strict=True):
        kind = source.number()
        dtype = DTYPES[kind % len(DTYPES)] if kind > 200 else ("i4" if name != "data" else "f4")
        if kind & 1 and kind <= 200:  # small numbers, most of them sound
            values = np.frombuffer(source.take(size).ljust(size, b"\0"), np.uint8).astype(np.int64) % 10
            if name == "indptr":
                values = np.minimum(np.cumsum(values % 4), sizes[1])
                values[:1] = 0
                values[-1:] = sizes[1]
        else:
            raw = source.take(8 * size).ljust(8 * size, b"\0")
            values = np.frombuffer(raw, "f8" if name == "data" else "i8").copy()
        with np.errstate(all="ignore"):
            setattr(given, name, values.astype(dtype) if name == "data" or dtype != "f8" else values.astype("f8"))
    given.tocsr = lambda copy=False: given
    rule, dtype = RULES[source.below(len(RULES))], np.dtype(("float32", "float64")[source.below(2)])
    try:
        rows = as_rows(given, dtype)
    except (ValueError, TypeError, MemoryError):
        return
    if rows.n_features > 1000:
        return
    learner = Learner(rule, Training(dtype=dtype.name), np.arange(2), rows.n_features)
    if learner.state.dtype != dtype:
        return
    try:
        learner.learn(rows, np.where(np.arange(rows.n_rows) % 2, 1.0, -1.0))
    except DataError:
        return
    mean, variance = learner.margins(rows)
    assert np.isfinite(mean).all()
    assert (variance >= 0).all()


TARGETS = {
    "text": text,
    "model": model,
    "csr": csr,
    "json": record_targets.json_records,
    "csv": record_targets.csv_records,
    "lines": record_targets.line_records,
    "vw": record_targets.vw_records,
    "fields": record_targets.field_features,
    "formats": record_targets.formats,
}
