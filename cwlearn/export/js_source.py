"""A scorer in JavaScript, as one file without dependencies, for browsers and Node."""

from __future__ import annotations

import json
from collections.abc import Iterator

from cwlearn.export.scorer import Scorer
from cwlearn.export.source import check_texts, decimals, in_lines, introduction, program, settings_of
from cwlearn.export.tables import CharacterTables, tables_of

USAGE = """\
 * const scorer = require("./FILE"), or the global cwlearn in a browser.
 * scorer.score(TEXT_OR_ROW) gives {label, probabilities}; of a regression, {prediction}.
 * probabilities are in the order of scorer.labels."""
TEXT_NAMES = (
    "FEATURES",
    "ANALYZER",
    "LOW",
    "HIGH",
    "BY_SPACE",
    "LEAST",
    "LOWERCASE",
    "WEIGHTING",
    "NORM",
    "IDF",
    "ONLY_ASCII",
)


def js_source(scorer: Scorer) -> str:
    """The source; DataError if the model cannot be a program."""
    check_texts(scorer)
    return "\n".join([*_parts(scorer), program("scorer.js.in")])


def _parts(scorer: Scorer) -> Iterator[str]:
    given = "text" if scorer.documents is not None else "columns, values"
    yield f'/* {introduction(scorer)[0]}\n *\n{USAGE.replace("TEXT_OR_ROW", given)}\n */\n"use strict";\n(() => {{'
    settings = {**dict.fromkeys((*TEXT_NAMES, "DOCUMENTS", "DEFAULT_COUNT"), 0), **settings_of(scorer)}
    for name, value in settings.items():
        yield f"const {name} = {value if isinstance(value, int) else decimals(value)[0]};"
    numbers = "Float32Array" if settings["FLOAT32"] else "Float64Array"
    yield f"const labels = {_strings(scorer.labels)};"
    yield _array("Float64Array", "columns", [*map(str, scorer.columns.tolist())])
    yield _array(numbers, "means", decimals(scorer.means))
    yield _array("Float64Array", "intercept", decimals(scorer.intercept))
    yield _array(numbers, "variances", [] if scorer.variances is None else decimals(scorer.variances))
    yield _array("Uint32Array", "counts", [] if scorer.counts is None else [*map(str, scorer.counts.tolist())])
    options = scorer.documents
    tables = CharacterTables([], [], [], [], []) if options is None else tables_of(options)
    for name in ("words", "spaces", "cased", "ignorable"):
        ranges = [str(code) for pair in getattr(tables, name) for code in pair]
        yield _array("Uint32Array", "words_" if name == "words" else name, ranges)
    yield f"const folds = new Map([\n{in_lines(json.dumps(pair, separators=(',', ':')) for pair in tables.folds)}]);"
    yield f"const stopWords = new Set({_strings(list(options.stop_words or ()) if options else [])});"


def _strings(texts: list[str]) -> str:
    """Plain ASCII, without anything that would end the script of a page that has this source in it."""
    return json.dumps(texts).replace("<", "\\u003c")


def _array(kind: str, name: str, numbers: list[str]) -> str:
    return f"const {name} = new {kind}([\n{in_lines(numbers)}]);"
