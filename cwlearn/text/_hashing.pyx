"""Documents to rows: tokens, n-grams and their hashes, without the GIL.

The result is that of scikit-learn's HashingVectorizer, bit for bit: the same tokens, MurmurHash3 (x86, 32 bits, seed 0)
of their UTF-8, columns, signs, sums, explicit zeros and norms.

ASCII is handled by tables of 128 entries.  For other characters there are tables by code point, filled page by page
from the interpreter that runs (`characters.py`), so that they agree with its `re`, `str.lower` and `unicodedata`.
A page that is not there yet ends the call with NEEDS_PAGE.  Only one lower-case mapping depends on its neighbours, that
of the capital sigma: a document that has one ends the call with HAS_SIGMA, and the caller lowers it.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from cwlearn._logarithm cimport logarithm
from cwlearn._squares cimport floating, squared_length
from cwlearn.text._growing cimport Bytes, Doubles, Numbers, reserve
from cwlearn.text._murmur cimport Place, advanced, finished, four_bytes, murmur, with_rest
from cwlearn.text._utf8 cimport decoded, encoded

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object text)
    void* PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)

cdef extern from "text/_publishing.h":
    void cwlearn_publish(uint8_t* flag) noexcept nogil
    bint cwlearn_is_published(const uint8_t* flag) noexcept nogil

cdef extern from "text/_vectors.h":
    int cwlearn_wide
    bint cwlearn_has_avx2()
    void cwlearn_prepare_vectors()
    int cwlearn_first_bit(uint64_t word) noexcept nogil
    uint64_t cwlearn_classify(
        const uint8_t* p, uint8_t* lowered, bint lowercase, bint by_space, uint64_t* others) noexcept nogil
    void cwlearn_quads(uint32_t* quads, const uint8_t* text, Py_ssize_t n) noexcept nogil
    void cwlearn_advance(uint32_t* states, const uint32_t* quads, Py_ssize_t n) noexcept nogil
    void cwlearn_tails(
        uint32_t* out, const uint32_t* states, const uint32_t* quads, uint32_t mask, uint32_t size, Py_ssize_t n,
    ) noexcept nogil
    void cwlearn_keys(uint32_t* keys, uint32_t columns, uint32_t signs, Py_ssize_t n) noexcept nogil
    Py_ssize_t cwlearn_sums(
        uint32_t* columns, uint32_t* before, const uint32_t* keys, Py_ssize_t n, uint32_t signs) noexcept nogil

cdef extern from "text/_edges.h":
    Py_ssize_t cwlearn_edges(
        uint32_t* edges, uint8_t* lowered, const uint8_t* p, Py_ssize_t size, bint lowercase, bint by_space,
        Py_ssize_t* n_edges,
    ) noexcept nogil

cdef extern from "text/_tokens.h":
    bint cwlearn_has_avx512()
    Py_ssize_t cwlearn_tokens(
        uint8_t* text, Py_ssize_t* filled, uint32_t* bounds, Py_ssize_t* n_bounds, const uint8_t* p, Py_ssize_t size,
        const uint8_t* letter, const uint8_t* lower, int least, bint is_open,
    ) noexcept nogil

cdef extern from "text/_word_hashes.h":
    Py_ssize_t cwlearn_words(
        uint32_t* hashes, Py_ssize_t stride, const uint8_t* text, const uint32_t* bounds, Py_ssize_t words, int low,
        int high,
    ) noexcept nogil

cdef extern from "text/_sorting.h":
    enum:
        MOST_SORTED "CWLEARN_MOST_SORTED"
    void cwlearn_sort(uint32_t* out, const uint32_t* keys, Py_ssize_t n) noexcept nogil

cdef enum:
    CODE_POINTS = 0x110000
    PAGE = 256                # code points in a page of the tables
    EXPANSION_ROOM = 1 << 19  # bytes; those of Unicode 16 take less than a quarter of it
    EMPTY_EXPANSION = 1       # its place
    IS_WORD = 1               # flags of a code point, as `\w` and `\s` of the interpreter's `re` see it
    IS_SPACE = 2
    SIGMA = 0x3A3
    LONGEST = 1 << 30         # bytes of a document; places in it take 32 bits
    MOST_NGRAMS = 0x7FFFFFFF  # of a document, so that sums take 32 bits with their sign
    KNOWN_WEIGHTS = 256       # sums whose weights are in a table
    PIECE = 2048              # bytes of ASCII that are taken apart at once

cdef Py_ssize_t MOST_TEXT = 3 << 30          # bytes of what becomes of it

cdef enum:
    WORDS, CHARACTERS, BOUNDED                # BOUNDED: characters within word boundaries

cdef enum:
    BY_COUNT, BY_PRESENCE, BY_LOGARITHM

cdef enum:
    NO_NORM, BY_L1, BY_L2

cdef enum:
    FINE, NO_ROOM, NO_PAGE, BAD_BYTES, CAPITAL_SIGMA, NO_MEMORY

PAGE_SIZE = PAGE
WORD, SPACE = IS_WORD, IS_SPACE
LONGEST_DOCUMENT = LONGEST
DONE_ALL, NEEDS_ROOM, NEEDS_PAGE, BAD_UTF8, HAS_SIGMA = FINE, NO_ROOM, NO_PAGE, BAD_BYTES, CAPITAL_SIGMA
ANALYZERS = {"word": WORDS, "char": CHARACTERS, "char_wb": BOUNDED}
WEIGHTINGS = {"count": BY_COUNT, "binary": BY_PRESENCE, "log": BY_LOGARITHM}
NORMS = {None: NO_NORM, "l1": BY_L1, "l2": BY_L2}


cdef struct Plan:             # of Settings, for loops without the GIL
    int analyzer
    int low                   # of the range of n
    int high
    int least                 # characters of a token
    uint32_t n_features
    bint mask                 # n_features is a power of two
    int bits                  # of a column
    int weighting
    const double* weights     # of the sums from -KNOWN_WEIGHTS to KNOWN_WEIGHTS
    bint signs
    int norm
    bint lowercase
    bint by_space             # tokens are what is not white space
    const uint8_t* letter     # of ASCII
    const uint8_t* space
    const uint8_t* lower
    const uint8_t* flags      # by code point: see Tables
    const int32_t* replacements
    const uint8_t* published
    const uint8_t* expansions
    bint has_stop_words
    const uint8_t* stop_text
    const int64_t* stop_places
    const int64_t* stop_sizes
    uint32_t stop_mask


include "_documents.pxi"
include "_tables.pxi"
include "_tokens.pxi"
include "_ngrams.pxi"
include "_columns.pxi"


cdef int widest():
    """The widest vectors of this processor: 2 is AVX-512, 1 AVX2, 0 neither."""
    return 0 if not cwlearn_has_avx2() else 1 + cwlearn_has_avx512()


cwlearn_prepare_vectors()
cwlearn_wide = widest()


def choose_vectors(int wide):
    """Use vectors as wide as this, or the widest of this processor, for tests; return how wide they were.

    2 is AVX-512, 1 AVX2, 0 neither.
    """
    global cwlearn_wide
    cdef int before = cwlearn_wide
    cwlearn_wide = min(wide, widest())
    return before


def murmur_of(bytes data):
    """The hash of some bytes, signed, as scikit-learn has it."""
    return <int32_t> murmur(<Place> PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef int collect_columns(const Plan* s, Work* w) noexcept nogil:
    """Make the columns of the n-grams of a document that is taken apart."""
    cdef bint fits
    if s.analyzer == WORDS:
        fits = add_word_ngrams(s, w)
    elif w.ascii:
        fits = add_ascii_ngrams(s, w)
    elif s.analyzer == CHARACTERS:
        fits = add_spans(s, w, 0, w.bounds.size, s.low)
    else:
        fits = add_bounded_ngrams(s, w)
    return FINE if fits and w.keys.size <= MOST_NGRAMS and add_up(s, w) else NO_MEMORY


cdef int next_document(
    const Plan* s, Work* w, Documents documents, Py_ssize_t number, bint want_bounds, uint32_t* detail,
) noexcept nogil:
    """Take a document apart."""
    cdef Place begin = documents.start[number]
    cdef Place where = begin
    cdef int status
    if documents.length[number] >= LONGEST:
        return NO_MEMORY
    status = take_apart(s, w, begin, begin + documents.length[number], want_bounds, detail, &where)
    if status == BAD_BYTES:
        detail[0] = <uint32_t> (where - begin)
    return status


def hash_documents(
    Documents documents not None, Settings settings not None, Py_ssize_t first, Py_ssize_t stop, int64_t[::1] indptr,
    int32_t[::1] indices, floating[::1] values, double[::1] squares, Py_ssize_t n_rows, bint single,
):
    """Append rows of the documents from `first` to `stop` to the first `n_rows` rows in the arrays.

    `squares` takes the squared length of each row.  `single` makes the norms of float32 values from float32 squares, as
    scikit-learn does; otherwise they are made in float64, and the values are rounded to their type in the end.

    Returns (status, next document, detail): DONE_ALL; NEEDS_ROOM in the arrays; NEEDS_PAGE `detail` of the tables;
    BAD_UTF8 at byte `detail` of the document; HAS_SIGMA.
    """
    cdef Plan* s = &settings.plan
    cdef Work w
    cdef Py_ssize_t number, columns
    cdef Py_ssize_t room = indices.shape[0] if indices.shape[0] < values.shape[0] else values.shape[0]
    cdef Py_ssize_t most_rows = squares.shape[0] if squares.shape[0] < indptr.shape[0] else indptr.shape[0] - 1
    cdef int64_t filled
    cdef int status = FINE
    cdef uint32_t detail = 0
    if not 0 <= first <= stop <= documents.count:
        raise ValueError("there are no such documents")
    if not 0 <= n_rows <= most_rows:
        raise ValueError("the arrays of rows are too short")
    filled = indptr[n_rows]
    if not 0 <= filled <= room:
        raise ValueError("the arrays of entries are too short")
    memset(&w, 0, sizeof(Work))
    number = first
    with nogil:
        while number < stop:
            if n_rows == most_rows:
                status = NO_ROOM
                break
            status = next_document(s, &w, documents, number, False, &detail)
            if status == FINE:
                status = collect_columns(s, &w)
            if status:
                break
            columns = w.columns.size
            if columns > room - filled:
                status = NO_ROOM
                break
            squares[n_rows] = 0
            if columns:
                if not fill_row(s, &w, &indices[filled], &values[filled], single):
                    status = NO_MEMORY
                    break
                squares[n_rows] = squared_length(&values[filled], columns)
                filled += columns
            n_rows += 1
            indptr[n_rows] = filled
            number += 1
        free_work(&w)
    if status == NO_MEMORY:
        raise MemoryError(f"document {number} needs too much memory")
    return status, number, detail


include "_names.pxi"
