"""How a model turns documents into columns.  A model file keeps these options, so that no flag is repeated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from cwlearn.core.parameters import BOOLEAN, NOTHING, Check, Options, is_integer, one_of, option

DEFAULT_PATTERN = r"(?u)\b\w\w+\b"  # of scikit-learn: two or more letters, digits or underscores
BY_SPACE_PATTERN = r"\S+"
DEFAULT_BITS = 20
DEFAULT_NAMES = 1000  # columns whose words a model keeps
# Columns depend on the hash, and on how tokens are made.  A change of either makes old models wrong, so that a model
# says which it was trained with, and another one is refused.
TOKENS = {"hash": "murmur3-32", "version": 1}


def _read_ngrams(text: str) -> tuple[int, int]:
    low, _, high = text.partition(",")
    return int(low), int(high or low)


def _is_range(value: Any) -> bool:
    pair = isinstance(value, (tuple, list)) and len(value) == 2 and all(map(is_integer, value))
    return pair and 1 <= value[0] <= value[1] <= 64


NGRAMS = Check("two integers with 1 <= low <= high <= 64", _is_range, _read_ngrams, "LOW,HIGH")
BITS = Check("an integer from 1 to 30", lambda value: is_integer(value) and 1 <= value <= 30, int, "B")
WORDS = Check(
    "a list of words",
    lambda value: isinstance(value, (tuple, list)) and all(isinstance(word, str) for word in value),
    lambda text: tuple(word.strip() for word in text.split(",")),
    "A,B,...",
)
FIELD = Check("the name of a field", lambda value: isinstance(value, str) and value.strip(), str, "FIELD")
FIELDS = Check(
    "a list of different names of fields",
    lambda value: (
        isinstance(value, (tuple, list))
        and all(isinstance(name, str) and name.strip() for name in value)
        and len(set(value)) == len(value)
    ),
    lambda text: tuple(name.strip() for name in text.split(",")),
    "A,B,...",
)
WHERE = ("text", "label")  # options that say where something stands in a record, and nothing of the columns
# Options that a file brings along: they are no options of `TextClassifier`, which takes texts alone.
OF_FILES = ("fields", "named_features", *WHERE)


@dataclass(frozen=True)
class TextOptions(Options):
    """How documents become rows: tokens, n-grams, their weights, and the length of a row."""

    ngram_range: tuple[int, int] = option((1, 2), NGRAMS, "Numbers of neighbouring tokens that make a feature.")
    analyzer: Literal["word", "char", "char_wb"] = option(
        "word",
        one_of("word", "char", "char_wb"),
        "Tokens are words, characters, or characters within words ('char_wb').",
    )
    lowercase: bool = option(True, BOOLEAN, "Make all letters small.")
    strip_accents: Literal["ascii", "unicode"] | None = option(
        None, NOTHING | one_of("ascii", "unicode"), "Remove accents from letters."
    )
    stop_words: tuple[str, ...] | None = option(None, NOTHING | WORDS, "Words that are left out.")
    token_pattern: str = option(
        DEFAULT_PATTERN,
        one_of(DEFAULT_PATTERN, BY_SPACE_PATTERN),
        "What a word is: two or more letters or digits, or all that stands between white space.",
    )
    weighting: Literal["count", "binary", "log"] = option(
        "log", one_of("count", "binary", "log"), "Value of a feature: its count n, 1, or 1 + ln n."
    )
    idf: bool = option(
        True,
        BOOLEAN,
        "Weigh features by inverse document frequency: that of the rows so far in one pass, that of all in several.",
    )
    norm: Literal["l1", "l2"] | None = option("l2", NOTHING | one_of("l1", "l2"), "Bring all rows to the length 1.")
    fields: tuple[str, ...] = option((), FIELDS, "Fields of JSON and CSV that are features beside the text.")
    named_features: bool = option(False, BOOLEAN, "Rows come as features with names (Vowpal Wabbit), not as texts.")
    # Where a text and its label stand says nothing of the columns.
    text: str = option(
        "text", FIELD, "Field of the text in JSON and CSV, or several with commas between them.", compare=False
    )
    label: str = option("label", FIELD, "Field of the label in JSON and CSV.", compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "ngram_range", tuple(int(number) for number in self.ngram_range))
        object.__setattr__(self, "fields", tuple(self.fields))
        if self.stop_words is not None:
            object.__setattr__(self, "stop_words", tuple(self.stop_words))

    @classmethod
    def of_features(cls) -> TextOptions:
        """The options of rows that come as features with names: values are taken as they are given."""
        return cls((1, 1), weighting="count", idf=False, norm=None, named_features=True)

    def record(self) -> dict[str, Any]:
        """What a model file keeps."""
        return {**TOKENS, **asdict(self)}

    @classmethod
    def from_record(cls, record: Any) -> TextOptions:
        """The options of a model file; ValueError says what is wrong."""
        if not isinstance(record, Mapping):
            raise ValueError(f"its options for documents are {record!r}")
        options = dict(record)
        tokens = {name: options.pop(name, None) for name in TOKENS}
        if tokens != TOKENS:
            raise ValueError(
                f"its documents were hashed by {tokens['hash']!r}, version {tokens['version']!r}; this release knows "
                f"{TOKENS['hash']!r}, version {TOKENS['version']}"
            )
        for name in ("ngram_range", "stop_words", "fields"):
            if isinstance(options.get(name), list):
                options[name] = tuple(options[name])
        try:
            return cls(**options)
        except TypeError:
            raise ValueError(f"its options for documents are {sorted(options)}") from None
