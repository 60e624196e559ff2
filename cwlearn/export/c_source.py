"""A scorer in C99, as one file without dependencies."""

from __future__ import annotations

from collections.abc import Iterator

from cwlearn.export.scorer import Scorer
from cwlearn.export.source import check_texts, decimals, in_lines, introduction, program, settings_of
from cwlearn.export.tables import NOWHERE, Ranges, tables_of

USAGE_OF_TEXTS = """\
 * int cwlearn_score(const char *text, size_t size, double *result)
 *     UTF-8 of so many bytes.  The number of the label, -1 if it is no UTF-8, -2 without memory."""
USAGE_OF_NUMBERS = """\
 * int cwlearn_score(size_t n, const uint64_t *columns, const double *values, double *result)
 *     A row of n values, each in another column.  The number of the label."""
USAGE = """\
 * result gets the probability of each label, in the order of cwlearn_labels; of a regression, the prediction.
 * Threads may call it at the same time.  Compile with -lm.  -DCWLEARN_MAIN makes a program that scores lines."""


def c_source(scorer: Scorer) -> str:
    """The source; DataError if the model cannot be a program."""
    check_texts(scorer)
    rows = "rows.c.in" if scorer.documents is None else "text.c.in"
    return "\n".join([*_parts(scorer), *map(program, ("scorer.c.in", rows, "main.c.in"))])


def _parts(scorer: Scorer) -> Iterator[str]:
    usage = USAGE_OF_NUMBERS if scorer.documents is None else USAGE_OF_TEXTS
    yield f"/* {introduction(scorer)[0]}\n *\n{usage}\n{USAGE}\n */"
    yield "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n"
    for name, value in settings_of(scorer).items():
        yield f"#define CW_{name} {value if isinstance(value, int) else decimals(value)[0]}"
    wide = scorer.n_features > 1 << 32
    columns = [str(column) for column in scorer.columns.tolist()] or [str(NOWHERE)]
    number = "float" if settings_of(scorer)["FLOAT32"] else "double"
    suffix = "f" if number == "float" else ""
    yield _array(
        "uint64_t" if wide else "uint32_t", "columns", [f"{column}u{'ll' if wide else ''}" for column in columns]
    )
    yield _array(number, "means", decimals(scorer.means, suffix) or ["0"] * scorer.blocks)
    yield _array("double", "intercept", decimals(scorer.intercept))
    if scorer.variances is not None:
        yield _array(number, "variances", decimals(scorer.variances, suffix) or ["0"])
    if scorer.counts is not None:
        yield _array("uint32_t", "counts", [f"{count}u" for count in scorer.counts.tolist()] or ["0"])
    labels = ",\n".join(_quoted(label) for label in scorer.labels) or '""'
    yield f"extern const char *const cwlearn_labels[];\nconst char *const cwlearn_labels[] = {{\n{labels}}};"
    if scorer.documents is not None:
        yield from _character_parts(scorer)
        yield "int cwlearn_score(const char *text, size_t size, double *result);"
    else:
        yield "int cwlearn_score(size_t n, const uint64_t *columns, const double *values, double *result);"


def _character_parts(scorer: Scorer) -> Iterator[str]:
    assert scorer.documents is not None
    tables = tables_of(scorer.documents)
    for name in ("words", "spaces", "cased", "ignorable"):
        if ranges := getattr(tables, name):
            yield _ranges(name, ranges)
    places, text = [], b""
    for code, folded in tables.folds or [(NOWHERE, "")]:
        places.append(f"{{{code}u,{len(text)}u}}")
        text += folded.encode()
    places.append(f"{{{NOWHERE}u,{len(text)}u}}")
    yield f"#define CW_FOLDS {len(places) - 1}"
    yield f"static const uint32_t cw_folds[][2] = {{\n{in_lines(places)}}};"
    yield _array("unsigned char", "folded", [*map(str, text)] or ["0"])
    if scorer.documents.stop_words:
        words = ",\n".join(map(_quoted, scorer.documents.stop_words))
        yield f"static const char *const cw_stop_words[] = {{\n{words}}};"


def _ranges(name: str, ranges: Ranges) -> str:
    pairs = in_lines(f"{{{first}u,{last}u}}" for first, last in ranges)
    return f"#define CW_{name.upper()} {len(ranges)}\nstatic const uint32_t cw_{name}[][2] = {{\n{pairs}}};"


def _array(kind: str, name: str, numbers: list[str]) -> str:
    return f"static const {kind} cw_{name}[] = {{\n{in_lines(numbers)}}};"


def _quoted(text: str) -> str:
    """A string of C: everything but plain ASCII as octal numbers, and question marks, which may be trigraphs."""
    plain = (
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
        for byte in text.encode("utf-8", "backslashreplace")
    )
    return f'"{"".join(plain)}"'
