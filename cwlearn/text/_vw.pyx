"""Lines of Vowpal Wabbit to CSR arrays, without the GIL.

    line    = [label [importance [base]]] [tag] {"|" [namespace [":" scale]] {" " feature [":" value]}} "\\n"

The column of a feature is that of the hash of its name, as for words of text: |MurmurHash3| modulo the number of
columns.  Its name is NAMESPACE^FEATURE, or FEATURE without a namespace; so the columns are not those of Vowpal Wabbit.
The values of features that meet are added up, in the order of the line.

A label is any word.  A word that begins with ' or that "|" follows without a blank is a tag, as in Vowpal Wabbit.

`split_vw` stops at the first line that is not of this form; `vw_errors.py` explains it.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcpy, memset

from cwlearn._squares cimport squared_length
from cwlearn.text._murmur cimport column_of, murmur

ctypedef const uint8_t* Place

cdef extern from "_scan.h":
    Place name_end "cwlearn_name_end" (Place p) noexcept nogil

cdef extern from "_svmlight.h":
    int zeros_above "cwlearn_zeros_above" (uint64_t word) noexcept nogil
    uint64_t number_before "cwlearn_number_before" (const uint8_t* end, int64_t count) noexcept nogil
    void make_locale "cwlearn_make_locale" () noexcept nogil
    double rounded_by_libc "cwlearn_strtod" (const char* text) noexcept nogil

cdef extern from "_subnormals.h":
    unsigned int keep_subnormals "cwlearn_keep_subnormals" () noexcept nogil
    void as_before "cwlearn_as_before" (unsigned int before) noexcept nogil

ctypedef fused floating:
    float
    double

cdef enum Status:
    FINE, BAD, FULL, NO_MEMORY
cdef enum:
    PADDED = 64               # bytes that must stand before and after a text
    NAMESPACE = 255           # bytes that the name of a namespace may have: it is hashed again with every feature
    IS_MISSING = 0            # kinds of _records.pyx
    IS_STRING = 1
MAX_NAMESPACE = NAMESPACE

include "_decimals.pxi"
include "_vw_rows.pxi"


cdef inline bint is_blank(Place p) noexcept nogil:
    return p[0] == c" " or p[0] == c"\t" or p[0] == c"\v" or p[0] == c"\f" or (p[0] == c"\r" and p[1] == c"\n")


cdef inline Place behind_blanks(Place p) noexcept nogil:
    while is_blank(p):
        p += 1
    return p


cdef inline bint ends_word(Place p) noexcept nogil:
    return is_blank(p) or p[0] == c"|" or p[0] == c"\n"


cdef inline Place behind_word(Place p) noexcept nogil:
    """The first byte that is blank, "|" or a line end; of these a single CR is none that may end a word."""
    p = name_end(p)
    while p[0] == c":":
        p = name_end(p + 1)
    return p


cdef Place read_value(Place p, double* value) noexcept nogil:
    """Read ":" and a number, if there is one: the place behind it, or NULL."""
    value[0] = 1
    if p[0] == c":":
        p = read_long_number(p + 1, value)
    return p if p != NULL and ends_word(p) else NULL


cdef struct Head:             # what stands before the first "|"
    Place label
    Place label_end           # NULL: there is none
    double importance


cdef Place read_head(Place p, Head* head) noexcept nogil:
    """The place of the first "|", or NULL."""
    cdef Place word
    cdef int number = 0
    cdef double base = 0
    head.label = head.label_end = NULL
    head.importance = 1
    while True:
        p = behind_blanks(p)
        if p[0] == c"|":
            return p
        word = p
        p = behind_word(p)
        if p[0] == c"|":                    # a tag
            return p
        if not is_blank(p):
            return NULL
        if word[0] == c"'":
            p = behind_blanks(p)
            return p if p[0] == c"|" else NULL
        if number == 0:
            head.label, head.label_end = word, p
        elif number == 1:
            if read_long_number(word, &head.importance) != p or head.importance < 0:
                return NULL
        elif number == 2:
            if read_long_number(word, &base) != p or base != 0:
                return NULL
        else:
            return NULL
        number += 1


cdef bint count_name(const Row* row, uint32_t column, Place name, int64_t size) noexcept with gil:
    """Count the name of a feature; False if there is no memory."""
    cdef dict names = <dict> row.names
    try:
        counts = names.setdefault(column, {})
        text = (<const char*> name)[:size].decode("utf-8", "replace")
        counts[text] = counts.get(text, 0) + 1
    except MemoryError:
        return False
    return True


cdef Place read_features(Place p, Row* row, uint32_t n_features, int* status) noexcept nogil:
    """Read the namespaces from p, a "|", to the end of the line: the place of that, or NULL with a status."""
    cdef Place name
    cdef int64_t prefix = 0       # bytes of the namespace in the name
    cdef int64_t size
    cdef double scale = 1
    cdef double value = 1
    cdef uint32_t hash, column
    row.count = 0
    status[0] = BAD
    while True:
        if p[0] == c"|":
            name = p + 1
            p = name_end(name)
            size = p - name
            if size > NAMESPACE or (size == 0 and p[0] == c":"):
                return NULL
            p = read_value(p, &scale)
            if p == NULL:
                return NULL
            prefix = size + 1 if size else 0
            if not reserve_name(row, prefix):
                status[0] = NO_MEMORY
                return NULL
            if size:
                memcpy(row.name, name, size)
                row.name[size] = c"^"
        p = behind_blanks(p)
        if p[0] == c"\n":
            status[0] = FINE
            return p
        if p[0] == c"|":
            continue
        name = p
        p = name_end(name)
        size = p - name
        if size == 0:
            return NULL
        if not (reserve_name(row, prefix + size) and reserve_entries(row)):
            status[0] = NO_MEMORY
            return NULL
        if prefix:
            memcpy(row.name + prefix, name, size)
            hash = murmur(row.name, prefix + size)
        else:
            hash = murmur(name, size)
        p = read_value(p, &value)
        if p == NULL:
            return NULL
        column = column_of(hash, n_features)
        row.entries[row.count] = Entry(column, value * scale)
        row.count += 1
        if row.wanted != NULL and row.wanted[column >> 3] >> (column & 7) & 1:
            if not count_name(row, column, row.name if prefix else name, prefix + size):
                status[0] = NO_MEMORY
                return NULL


def split_vw(
    int64_t[::1] indptr, int32_t[::1] indices, floating[::1] values, double[::1] squares, int64_t[::1] places,
    int64_t[::1] starts, int64_t[::1] stops, uint8_t[::1] kinds, double[::1] importances, const uint8_t[::1] text,
    int64_t start, int64_t stop, int64_t n_rows, int64_t n_features,
):
    """Append the rows of text[start:stop], whole lines, to the first `n_rows` rows in the arrays.

    squares        the squared length of each row, which is not finite where a value is out of range
    places         offset in `text` of each line
    starts, stops  the span in `text` of each label, 0:0 if there is none
    kinds          STRING, or MISSING without a label
    importances    1 where none is written

    Returns (status, rows now, lines read, where it stopped).  The status is DONE, BAD_RECORD (where: the start of that
    line) or NEEDS_ROOM for another row or its entries (where: the start of its line); a line of n bytes has no more
    than n / 2 entries.  Blank lines are no rows.

    The columns rise strictly within a row, and are from 0 to `n_features` - 1.
    """
    cdef int64_t room = places.shape[0]
    cdef int64_t entry_room = min(indices.shape[0], values.shape[0])
    if not PADDED <= start <= stop <= text.shape[0] - PADDED or (start < stop and text[stop - 1] != c"\n"):
        raise ValueError("the text must end with a line, between paddings")
    if min(starts.shape[0], stops.shape[0], kinds.shape[0], importances.shape[0], squares.shape[0]) < room:
        raise ValueError("the arrays of rows have less room than places")
    if not 0 <= n_rows <= room or indptr.shape[0] <= room:
        raise ValueError("the number of rows is out of range, or indptr too short")
    if not 0 <= indptr[n_rows] <= entry_room:
        raise ValueError("the arrays of entries are too short")
    if not 1 <= n_features < 2**31:
        raise ValueError("n_features must be between 1 and 2^31 - 1")
    cdef Place base = &text[0]
    cdef Place p = base + start
    cdef Place end = base + stop
    cdef Place line = p
    cdef int64_t n = indptr[n_rows]
    cdef int64_t lines = 0
    cdef int64_t count
    cdef int status = FINE
    cdef Head head
    cdef Row row
    cdef unsigned int before
    memset(&row, 0, sizeof(Row))
    with nogil:
        before = keep_subnormals()
        while p < end:
            line = p
            p = behind_blanks(p)
            if p[0] != c"\n":
                if n_rows == room:
                    status = FULL
                    break
                status = BAD
                p = read_head(p, &head)
                if p == NULL:
                    break
                p = read_features(p, &row, <uint32_t> n_features, &status)
                if p == NULL:
                    break
                sort_row(&row, <uint32_t> n_features)
                count = count_columns(&row)
                if count > entry_room - n:
                    status = FULL
                    break
                if count:
                    add_up(&row, &indices[0] + n, &values[0] + n)
                squares[n_rows] = squared_length(&values[0] + n, count) if count else 0
                places[n_rows] = line - base
                starts[n_rows] = head.label - base if head.label != NULL else 0
                stops[n_rows] = head.label_end - base if head.label != NULL else 0
                kinds[n_rows] = IS_STRING if head.label != NULL else IS_MISSING
                importances[n_rows] = head.importance
                n += count
                n_rows += 1
                indptr[n_rows] = n
            lines += 1
            p += 1
        as_before(before)
        free(row.entries)
        free(row.spare)
        free(row.name)
    if status == NO_MEMORY:
        raise MemoryError
    return status, n_rows, lines, (line if status else end) - base


def name_vw(
    const uint8_t[::1] text, int64_t start, int64_t stop, int64_t n_features, const uint8_t[::1] wanted,
    dict names not None,
):
    """Count the names of the features in text[start:stop], whole lines, whose column has a bit in `wanted`.

    They are added to `names`: the counts of names, by column.  What stands behind a flaw in a line does not count.
    """
    if not PADDED <= start <= stop <= text.shape[0] - PADDED or (start < stop and text[stop - 1] != c"\n"):
        raise ValueError("the text must end with a line, between paddings")
    if not 1 <= n_features < 2**31 or wanted.shape[0] < (n_features + 7) // 8:
        raise ValueError("there must be a bit for each of 1 to 2^31 - 1 columns")
    cdef Place p = &text[0] + start
    cdef Place end = &text[0] + stop
    cdef Place features
    cdef int status = FINE
    cdef Head head
    cdef Row row
    memset(&row, 0, sizeof(Row))
    row.wanted, row.names = &wanted[0], <PyObject*> names
    with nogil:
        while p < end:
            features = read_head(p, &head)
            if features != NULL:
                read_features(features, &row, <uint32_t> n_features, &status)
                if status == NO_MEMORY:
                    break
            p = <Place> memchr(p, c"\n", end - p) + 1
        free(row.entries)
        free(row.spare)
        free(row.name)
    if status == NO_MEMORY:
        raise MemoryError
