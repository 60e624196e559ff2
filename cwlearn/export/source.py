"""What the sources in C and in JavaScript share: the settings of a scorer, and numbers as text."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from typing import Any

import numpy as np

from cwlearn._version import __version__
from cwlearn.core.text_options import BY_SPACE_PATTERN, TextOptions
from cwlearn.errors import DataError
from cwlearn.export.scorer import DEVIATION, LENGTH, NOTHING, Scorer

DIVISORS = {NOTHING: 0, DEVIATION: 1, LENGTH: 2}
ANALYZERS = {"word": 0, "char": 1, "char_wb": 2}
WEIGHTINGS = {"count": 0, "binary": 1, "log": 2}
NORMS = {None: 0, "l1": 1, "l2": 2}
NUMBERS_A_LINE = 16


def check_texts(scorer: Scorer) -> None:
    """Refuse models whose rows are neither texts alone nor numbers."""
    options = scorer.documents
    if options is not None and options.named_features:
        raise DataError("named features (vw) are not exported as a program: use json")
    if options is not None and options.fields:
        raise DataError("further fields of documents are not exported as a program: use json")
    if options is None and scorer.hash_bits:
        raise DataError("hashed indices are not exported as a program: use json")


def settings_of(scorer: Scorer) -> dict[str, int | float]:
    """The settings that both programs have, by name."""
    settings: dict[str, int | float] = {
        "REGRESSION": int(scorer.task == "regression"),
        "BLOCKS": scorer.blocks,
        "LABELS": max(1, len(scorer.labels)),
        "SIZE": max(1, len(scorer.columns)),
        "TEXT": int(scorer.documents is not None),
        "FLOAT32": int(scorer.dtype == np.float32),
        "DIVISOR": DIVISORS[scorer.divisor],
        "BIAS": scorer.bias,
        "SLOPE": scorer.slope,
        "SHIFT": scorer.shift,
        "NOISE": scorer.noise,
        "CUT": scorer.cut,
        "INTERCEPT_VARIANCE": scorer.intercept_variance,
        "PRIOR_VARIANCE": scorer.prior_variance,
    }
    return settings if scorer.documents is None else settings | _text_settings(scorer, scorer.documents)


def _text_settings(scorer: Scorer, options: TextOptions) -> dict[str, int | float]:
    by_space = options.token_pattern == BY_SPACE_PATTERN
    return {
        "FEATURES": 1 << scorer.hash_bits,
        "ANALYZER": ANALYZERS[options.analyzer],
        "LOW": options.ngram_range[0],
        "HIGH": options.ngram_range[1],
        "BY_SPACE": int(by_space),
        "LEAST": 1 if by_space else 2,
        "LOWERCASE": int(options.lowercase),
        "ONLY_ASCII": int(options.strip_accents == "ascii"),
        "WEIGHTING": WEIGHTINGS[options.weighting],
        "NORM": NORMS[options.norm],
        "IDF": int(options.idf),
        "DOCUMENTS": scorer.n_documents,
        "DEFAULT_COUNT": scorer.default_count,
        "STOP_WORDS": len(options.stop_words or ()),
    }


def introduction(scorer: Scorer) -> list[str]:
    """What the first lines of a program say of the model."""
    what = "a regression" if scorer.task == "regression" else f"{len(scorer.labels)} labels"
    rows = "texts" if scorer.documents is not None else "rows of numbers"
    return [f"A scorer of {rows}, {what}, {len(scorer.columns):,} columns; made by cwlearn {__version__}."]


def program(name: str) -> str:
    """The part of a program that is the same for all models."""
    return (files("cwlearn.export") / name).read_text("utf-8")


def in_lines(texts: Iterable[str]) -> str:
    """Numbers with commas between them, some in each line."""
    every = list(texts)
    rows = (every[start : start + NUMBERS_A_LINE] for start in range(0, len(every), NUMBERS_A_LINE))
    return ",\n".join(",".join(row) for row in rows)


def decimals(numbers: Any, suffix: str = "") -> list[str]:
    """Numbers that are read back to the same bits."""
    array = np.asarray(numbers).reshape(-1)
    digits = 9 if array.dtype == np.float32 else 17
    return [_decimal(number, digits) + (suffix if digits == 9 else "") for number in array.tolist()]


def _decimal(number: float, digits: int) -> str:
    text = f"{number:.{digits}g}"
    return text if any(mark in text for mark in ".en") else f"{text}.0"
