"""scikit-learn's HashingVectorizer with compiled loops on all cores."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from numbers import Integral
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import sklearn
from numpy.typing import NDArray
from sklearn.feature_extraction import text as sklearn_text

from cwlearn.text.arrow import arrow_strings, is_arrow
from cwlearn.text.hashing import (
    BY_SPACE_PATTERN,
    DEFAULT_PATTERN,
    Documents,
    GrowingRows,
    Hasher,
    HashingSettings,
    documents_of,
)
from cwlearn.text.hashing_in_threads import hash_slices
from cwlearn.utils.machine import usable_cores


class HashingVectorizer(sklearn_text.HashingVectorizer):  # type: ignore[misc]
    r"""Convert documents to a matrix of hashed token counts, on all cores.

    Parameters, defaults and results are those of `sklearn.feature_extraction.text.HashingVectorizer`, bit for bit.
    Callables, patterns other than the default one and ``r"\S+"``, other types of `dtype`, and files run its own code.

    Parameters
    ----------
    input : {'filename', 'file', 'content'}, default='content'
        What the documents are: names of files, files, or strings or bytes.
    encoding : str, default='utf-8'
        How bytes are decoded.
    decode_error : {'strict', 'ignore', 'replace'}, default='strict'
        What to do with bytes that are not of this encoding.
    strip_accents : {'ascii', 'unicode'} or callable, default=None
        Remove accents, by NFKD normalization; 'ascii' keeps ASCII only.
    lowercase : bool, default=True
        Convert all characters to lower case first.
    preprocessor : callable, default=None
        What to do instead of `lowercase` and `strip_accents`.
    tokenizer : callable, default=None
        What makes tokens instead of `token_pattern`.
    stop_words : {'english'}, list, default=None
        Words that are left out, if `analyzer` is 'word'.
    token_pattern : str or None, default ``r"(?u)\b\w\w+\b"``
        What a token is, if `analyzer` is 'word'.
    ngram_range : tuple (min_n, max_n), default=(1, 1)
        The lengths of n-grams.
    analyzer : {'word', 'char', 'char_wb'} or callable, default='word'
        N-grams of words, of characters, or of characters within words and the spaces around them.
    n_features : int, default=(2 ** 20)
        The number of columns.
    binary : bool, default=False
        Set all counts to 1.
    norm : {'l1', 'l2'}, default='l2'
        The norm that each row is divided by; None for none.
    alternate_sign : bool, default=True
        Count half of the n-grams, by their hash, as -1, so that collisions tend to cancel out.
    dtype : type, default=np.float64
        The type of the values.

    Examples
    --------
    >>> from cwlearn import HashingVectorizer
    >>> HashingVectorizer(n_features=2**4).fit_transform(["one document", "another document"]).shape
    (2, 16)
    """

    def __init__(
        self,
        *,
        input: Literal["filename", "file", "content"] = "content",
        encoding: str = "utf-8",
        decode_error: Literal["strict", "ignore", "replace"] = "strict",
        strip_accents: Literal["ascii", "unicode"] | Callable[[str], str] | None = None,
        lowercase: bool = True,
        preprocessor: Callable[[Any], Any] | None = None,
        tokenizer: Callable[[Any], Iterable[str]] | None = None,
        stop_words: Literal["english"] | list[str] | None = None,
        token_pattern: str | None = r"(?u)\b\w\w+\b",
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: Literal["word", "char", "char_wb"] | Callable[[Any], Iterable[str]] = "word",
        n_features: int = 2**20,
        binary: bool = False,
        norm: Literal["l1", "l2"] | None = "l2",
        alternate_sign: bool = True,
        dtype: Any = np.float64,
    ) -> None:
        super().__init__(
            input=input,
            encoding=encoding,
            decode_error=decode_error,
            strip_accents=strip_accents,
            lowercase=lowercase,
            preprocessor=preprocessor,
            tokenizer=tokenizer,
            stop_words=stop_words,
            token_pattern=token_pattern,
            ngram_range=ngram_range,
            analyzer=analyzer,
            n_features=n_features,
            binary=binary,
            norm=norm,
            alternate_sign=alternate_sign,
            dtype=dtype,
        )

    def transform(self, X: Any) -> Any:
        """Transform documents to a matrix.

        Parameters
        ----------
        X : iterable of str or bytes
            The documents: a list, an array, a column of pandas, polars or Arrow, a generator.

        Returns
        -------
        X : sparse matrix of shape (n_samples, n_features)
            The matrix of the documents.
        """
        plain = self._is_plain()
        strings = arrow_strings(X)
        if strings is None or not plain:
            X = X.to_pylist() if is_arrow(X) else X
        if isinstance(X, str) or not plain:
            return super().transform(X)
        self._validate_ngram_range()
        self.build_analyzer()  # which checks and warns, as in scikit-learn
        settings = self._settings()
        texts = X if isinstance(X, list | tuple) else list(X) if strings is None else []
        if settings is None or not len(strings or texts):
            return super().transform(texts if strings is None else X.to_pylist())
        hasher = _hasher(settings)
        if strings is None:
            utf8 = codecs.lookup(self.encoding).name == "utf-8"
            size, append = _size(texts), partial(self._append, hasher, utf8)
        else:
            size, append = strings.size, partial(_append_spans, hasher)
        documents = texts if strings is None else strings
        parts = hash_slices(documents, size, hasher.room(size), append, self.dtype, usable_cores)
        return _matrix(*parts, settings.n_features)

    def _is_plain(self) -> bool:
        """Whether no method is replaced, nothing is callable and documents are not in files."""
        return (
            all(getattr(type(self), name) is getattr(sklearn_text.HashingVectorizer, name) for name in _METHODS)
            and self.input == "content"
            and not any(map(callable, (self.analyzer, self.preprocessor, self.tokenizer, self.strip_accents)))
        )

    def _settings(self) -> HashingSettings | None:
        """The settings of the compiled loops; None if these cannot do what is asked for."""
        words = self.get_stop_words() if self.analyzer == "word" else None
        pattern = _PATTERNS.get(self.token_pattern) if self.analyzer == "word" else DEFAULT_PATTERN
        switches = (self.lowercase, self.binary, self.alternate_sign)
        if (
            pattern is None
            or self.dtype not in (np.float32, np.float64, "float32", "float64", float)
            or not all(isinstance(switch, bool | np.bool) for switch in switches)
            or not all(isinstance(number, Integral) for number in (self.n_features, *self.ngram_range))
            or not all(isinstance(word, str) and _is_unicode(word) for word in words or ())
        ):
            return None
        low, high = self.ngram_range
        try:
            return HashingSettings(
                analyzer=self.analyzer,
                ngram_range=(int(low), int(high)),
                lowercase=bool(self.lowercase),
                strip_accents=self.strip_accents,
                stop_words=None if words is None else tuple(sorted(words)),
                token_pattern=pattern,
                n_features=int(self.n_features),
                weighting="binary" if self.binary else "count",
                norm=self.norm,
                alternate_sign=bool(self.alternate_sign),
            )
        except ValueError:  # scikit-learn says what it thinks of it
            return None

    def _append(self, hasher: Hasher, utf8: bool, rows: GrowingRows, texts: Sequence[Any], first: int) -> None:
        """Add the rows of a slice of the documents."""
        types = set(map(type, texts))
        if not types <= {str, bytes, np.str_, np.bytes_}:
            matrix = super().transform(texts)  # scikit-learn's error, most often
            rows.extend(matrix.indptr, matrix.indices, matrix.data)
            return
        if types & {bytes, np.bytes_} and not (utf8 and self.decode_error == "strict"):
            texts = [self.decode(text) for text in texts]
        bad, _ = hasher.append(rows, _documents(texts, first), norm_in_dtype=True)
        if bad:
            self.decode(texts[bad[0][0]])  # raises


_METHODS = (
    *("_char_ngrams", "_char_wb_ngrams", "_get_hasher", "_white_spaces", "_word_ngrams", "build_analyzer"),
    *("build_preprocessor", "build_tokenizer", "decode", "get_stop_words"),
)
_PATTERNS = {
    **dict.fromkeys((DEFAULT_PATTERN, r"\b\w\w+\b"), DEFAULT_PATTERN),
    **dict.fromkeys((BY_SPACE_PATTERN, r"(?u)\S+"), BY_SPACE_PATTERN),
}
_hasher = lru_cache(maxsize=8)(Hasher)


def _append_spans(hasher: Hasher, rows: GrowingRows, part: list[Documents], first: int) -> None:
    """Add the rows of a slice of an Arrow column."""
    for documents in part:
        bad, _ = hasher.append(rows, documents, norm_in_dtype=True)
        if bad:
            number, offset = bad[0]
            raise ValueError(f"document {first + number} is not UTF-8 at byte {offset}")
        first += len(documents)


def _size(documents: Sequence[Any]) -> int:
    """About how many characters the documents have."""
    sample = documents[:256]
    return (
        sum(len(document) for document in sample if isinstance(document, str | bytes)) * len(documents) // len(sample)
    )


def _is_unicode(text: str) -> bool:
    """Whether there is no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _documents(texts: Sequence[str | bytes], first: int) -> Documents:
    try:
        return documents_of(texts)
    except UnicodeEncodeError as error:
        number = first + next(k for k, text in enumerate(texts) if isinstance(text, str) and not _is_unicode(text))
        raise ValueError(
            f"document {number} is not Unicode text: character {error.start} is half of a surrogate pair, "
            f"{error.object[error.start]!r}; decode its bytes with another encoding, or with errors='replace'"
        ) from None


def _matrix(indptr: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[Any], n_features: int) -> Any:
    """A CSR matrix, of the kind that scikit-learn is configured to return."""
    array = sklearn.get_config().get("sparse_interface") == "sparray"
    if indptr[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    matrix = (sp.csr_array if array else sp.csr_matrix)((values, indices, indptr), (len(indptr) - 1, n_features))
    matrix.has_canonical_format = True  # columns rise, so SciPy need not look
    return matrix
