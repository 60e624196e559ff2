"""Model files: an `.npz` archive of a JSON header and the arrays of the state, sealed by a checksum.

Which arrays, and what they mean, each kind of state says itself: `State.arrays`.

The file is a ZIP archive of `.npy` members that `numpy.load(path, allow_pickle=False)` opens.  Its archive comment is
the SHA-256 of everything before the digest, so that a flipped bit, a missing tail or added bytes are all found before
a number is used.  `atomic_file` sees to it that under the final name there is always a whole model, the old one or the
new one.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from cwlearn._version import __version__
from cwlearn.atomic_file import replace_file
from cwlearn.errors import ModelError, listed
from cwlearn.kernel_options import KernelOptions
from cwlearn.learner import Learner, Training
from cwlearn.options import is_number, plain
from cwlearn.rules import TASKS
from cwlearn.state import Tally

FORMAT = "cwlearn model"
VERSION = 1  # of the layout below; a release reads its own and all earlier ones
HEADER_LIMIT = 1 << 26
SEAL = b"cwlearn sha256 "
DIGEST_LENGTH = 64


def save(learner: Learner, path: str | os.PathLike[str]) -> None:
    """Write the learner to `path`, replacing what is there only when the new file is whole."""
    with learner.lock:  # nobody learns meanwhile
        members = _members(learner)
        replace_file(path, lambda file: _write_sealed(file, members))


def _members(learner: Learner) -> dict[str, NDArray[Any]]:
    """The arrays of a file."""
    header = json.dumps(_header(learner), ensure_ascii=True).encode("ascii")
    arrays = learner.state.arrays()
    return {
        "header": np.frombuffer(header, np.uint8),
        **{name: array.astype(array.dtype.newbyteorder("<"), copy=False) for name, array in arrays.items()},
        "names": np.frombuffer(json.dumps(_names(learner)).encode("ascii"), np.uint8),
    }


def load(path: str | os.PathLike[str]) -> Learner:
    """Read a learner back; anything but a whole, sound model is a ModelError that names the file."""

    def fail(reason: str) -> NoReturn:
        raise ModelError(f"{os.fspath(path)}: {reason}")

    with open(path, "rb") as file:
        try:
            _check_seal(file, fail)
            with zipfile.ZipFile(file) as archive:
                if not {"header.npy", "names.npy"} <= set(archive.namelist()):
                    fail(f"unexpected members {archive.namelist()[:5]}")
                header = _read_header(archive)
                learner = _new_learner(header)
                expected = ("header", "names", *learner.state.arrays_of)
                if sorted(archive.namelist()) != sorted(f"{name}.npy" for name in expected):
                    fail(f"unexpected members {archive.namelist()[:5]}")
                arrays = {name: _read_array(archive, name) for name in expected[1:]}
            return _filled(learner, header, arrays)
        except (ModelError, MemoryError):
            raise
        except Exception as error:  # whatever a sealed but senseless file can bring zipfile, json and NumPy to
            # Which zipfile may have hidden; and a place in the file that makes no sense is no fault of the disk.
            fault = error if isinstance(error, OSError) else error.__context__
            if isinstance(fault, OSError) and fault.errno not in (None, errno.EINVAL, errno.EOVERFLOW):
                raise OSError(fault.errno, fault.strerror, os.fspath(path)) from None
            fail(f"not a sound cwlearn model: {error or type(error).__name__}")


class _Sealer:
    """A write-only stream that hashes what passes and puts the digest in place of the last DIGEST_LENGTH bytes.

    Having no `seek`, it makes zipfile write straight through.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._held = b""  # the last bytes so far

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        keep = min(len(view), DIGEST_LENGTH)
        ready = self._held[: len(self._held) + keep - DIGEST_LENGTH] if keep < DIGEST_LENGTH else self._held
        for part in (ready, view[: len(view) - keep]):
            self._hash.update(part)
            self._file.write(part)
        self._held = self._held[len(ready) :] + bytes(view[len(view) - keep :])
        return len(view)

    def flush(self) -> None:
        self._file.flush()

    def seal(self) -> None:
        self._file.write(self._hash.hexdigest().encode("ascii"))


def _write_sealed(file: IO[bytes], members: dict[str, NDArray[Any]]) -> None:
    stream = _Sealer(file)
    with zipfile.ZipFile(stream, "w") as archive:  # type: ignore[call-overload]
        archive.comment = SEAL + b"0" * DIGEST_LENGTH  # the last thing in the file
        for name, array in members.items():
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))  # the same model, the same bytes
            with archive.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
    stream.seal()


def _check_seal(file: IO[bytes], fail: Callable[[str], NoReturn]) -> None:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - len(SEAL) - DIGEST_LENGTH))
    tail = file.read()
    file.seek(0)
    start = file.read(4)
    if not tail.startswith(SEAL) or size <= len(tail):
        if start == b"PK\x03\x04":
            fail("not a cwlearn model, or one that was cut short, changed or added to")
        fail("not a cwlearn model")
    file.seek(0)
    digest = hashlib.sha256()
    left = size - DIGEST_LENGTH
    while left:
        block = file.read(min(left, 1 << 20))
        if not block:
            fail("the file shrank while it was read")
        digest.update(block)
        left -= len(block)
    if digest.hexdigest().encode("ascii") != tail[len(SEAL) :]:
        fail("damaged: its contents do not match its checksum")
    file.seek(0)


def _header(learner: Learner) -> dict[str, Any]:
    rule = {"name": learner.rule.name, **asdict(learner.rule)}
    if isinstance(rule.get("class_weight"), dict):
        rule["class_weight"] = [[_json_value(label), float(weight)] for label, weight in rule["class_weight"].items()]
    training = asdict(learner.training)
    if not isinstance(training["random_state"], (int, np.integer, type(None))):
        training["random_state"] = None  # a generator in mid-stream has no place in a model
    return {
        "format": FORMAT,
        "version": VERSION,
        "written_by": __version__,
        "task": learner.rule.task,
        "rule": {name: _json_value(value) for name, value in rule.items()},
        "kernel": learner.kernel and {name: _json_value(value) for name, value in asdict(learner.kernel).items()},
        "training": {name: _json_value(value) for name, value in training.items()},
        "labels": {
            "dtype": learner.classes.dtype.str,
            "values": [_json_value(label) for label in learner.classes.tolist()],
            "texts": learner.label_texts,
        },
        "prior": {"mean": learner.origin, "variance": learner.state.initial_variance},
        "n_features": learner.state.n_features,
        "hash_bits": learner.hash_bits,
        "tally": dict(learner.tally),
        "unfinished": learner.unfinished,
    }


def _names(learner: Learner) -> list[str] | None:
    return None if learner.feature_names is None else learner.feature_names.tolist()


def _json_value(value: Any) -> Any:
    """A Python value that JSON can hold."""
    value = plain(value)
    if not isinstance(value, (str, bool, int, float, list, type(None))):
        raise ModelError(f"cannot save {value!r}: a model holds numbers, strings, booleans and None")
    return value


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name stands twice in the header")
    return dict(pairs)


def _read_header(archive: zipfile.ZipFile) -> dict[str, Any]:
    if archive.getinfo("header.npy").file_size > HEADER_LIMIT:
        raise ValueError(f"its header is larger than {HEADER_LIMIT} bytes")
    text = _read_array(archive, "header").tobytes().decode("ascii")
    header: dict[str, Any] = json.loads(text, object_pairs_hook=_no_duplicates)
    if header["format"] != FORMAT:
        raise ValueError(f"its format is {header['format']!r}")
    if header["version"] != VERSION:
        raise ValueError(
            f"its format is version {header['version']!r}, written by cwlearn {header['written_by']}; "
            f"cwlearn {__version__} reads version {VERSION}"
        )
    return header


def _read_array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """One member, with every size checked against the file before memory is taken for it."""
    info = archive.getinfo(f"{name}.npy")
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{name} is compressed")
    if not info.file_size == info.compress_size <= os.fstat(archive.fp.fileno()).st_size:  # type: ignore[union-attr]
        raise ValueError(f"{name} claims more bytes than the file has")
    with archive.open(info) as member:
        if np.lib.format.read_magic(member) != (1, 0):
            raise ValueError(f"{name} is not an array of version 1.0")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(member)
        count = int(np.prod(shape, dtype=object))
        size = info.file_size - member.tell()
        if fortran or dtype.str not in ("|u1", "<i8", "<f4", "<f8") or count * dtype.itemsize != size:
            raise ValueError(f"{name} has an unexpected layout")
        array: NDArray[Any] = np.empty(shape, dtype)
        flat = array.reshape(-1).view(np.uint8)
        done = 0
        while done < size:
            read = member.readinto(flat[done:])  # type: ignore[attr-defined]
            if not read:
                raise EOFError(f"{name} is cut short")
            done += read
    return array


def _new_learner(header: dict[str, Any]) -> Learner:
    """A learner with the options of the file, and no features yet."""
    parameters = dict(header["rule"])
    name, task = parameters.pop("name"), header["task"]
    if task not in TASKS or name not in TASKS[task]:
        known = ", ".join(sorted(TASKS.get(task, TASKS)))
        raise ValueError(f"its rule is {name!r}, its task {task!r}; known are {known}")
    if isinstance(parameters.get("class_weight"), list):
        parameters["class_weight"] = dict(parameters["class_weight"])
    kernel = header["kernel"]
    return Learner(
        TASKS[task][name](**parameters),
        Training(**header["training"]),
        _labels(header["labels"]["dtype"], header["labels"]["values"], task),
        0,
        None if kernel is None else KernelOptions(**kernel),
    )


def _filled(learner: Learner, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Learner:
    n_features = header["n_features"]
    if not _is_count(n_features):
        raise ValueError(f"its number of features is {n_features!r}")
    learner.state.restore(n_features, arrays)
    origin = header["prior"]["mean"]
    if header["prior"] != {"mean": origin, "variance": learner.state.initial_variance} or not is_number(origin):
        raise ValueError(f"its prior {header['prior']} does not fit its parameters")
    learner.origin = float(origin)
    names = json.loads(arrays["names"].tobytes().decode("ascii"))
    if names is not None:
        if len(names) != n_features or not all(isinstance(name, str) for name in names):
            raise ValueError("its names of features do not fit its state")
        learner.feature_names = np.array(names, object)
    learner.tally = _tally(header["tally"])
    learner.label_texts = _texts(header["labels"]["texts"], len(learner.classes))
    learner.hash_bits = _hash_bits(header["hash_bits"], n_features)
    learner.unfinished = _unfinished(header["unfinished"])
    return learner


def _labels(dtype: str, values: list[Any], task: str) -> NDArray[Any]:
    if task == "regression":
        if values:
            raise ValueError(f"a regression has no labels, found {listed(values)}")
        return np.empty(0)
    kind = np.dtype(dtype)
    if kind.kind not in "biufUO" or kind.itemsize > HEADER_LIMIT:
        raise ValueError(f"its labels are of type {dtype}")
    if len(values) < 2 or not all(isinstance(value, (str, bool, int, float)) for value in values):
        raise ValueError(f"expected two or more labels, found {listed(values)}")
    labels = np.array(values, kind)
    if not (labels[:-1] < labels[1:]).all():
        raise ValueError(f"expected different, sorted labels, found {listed(values)}")
    return labels


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


def _tally(counts: dict[str, Any]) -> Tally:
    whole = [counts["rows"], counts["updates"], counts["mistakes"], counts["unsolved"]]
    if not all(map(_is_count, whole)):
        raise ValueError(f"its counts {whole} are not sound")
    sums = [counts["loss"], counts["surprise"], counts["squares"]]
    if not all(type(number) in (int, float) and 0 <= number < float("inf") for number in sums):
        raise ValueError(f"its sums {sums} are not sound")
    return Tally(
        rows=whole[0], updates=whole[1], mistakes=whole[2], unsolved=whole[3],
        loss=float(sums[0]), surprise=float(sums[1]), squares=float(sums[2]),
    )  # fmt: skip
