"""Fields of records as features beside those of the text, without the GIL.

A text s of the field f is the feature "f=s" with the value 1, true and false likewise; a number is the feature "f" with
that value.  What is null, missing or 0 adds nothing.  The column is that of the hash of the name, as for words of text.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE

from cwlearn._squares cimport floating, squared_length
from cwlearn.text._growing cimport Bytes, reserve
from cwlearn.text._murmur cimport Place, column_of, murmur

cdef extern from "_svmlight.h":
    int zeros_above "cwlearn_zeros_above" (uint64_t word) noexcept nogil
    uint64_t number_before "cwlearn_number_before" (const uint8_t* end, int64_t count) noexcept nogil
    void make_locale "cwlearn_make_locale" () noexcept nogil
    double rounded_by_libc "cwlearn_strtod" (const char* text) noexcept nogil

cdef extern from "_subnormals.h":
    unsigned int keep_subnormals "cwlearn_keep_subnormals" () noexcept nogil
    void as_before "cwlearn_as_before" (unsigned int before) noexcept nogil

cdef extern from "math.h":
    double INFINITY

cdef enum:
    IS_MISSING = 0            # kinds of _records.pyx
    IS_STRING = 1
    IS_NUMBER = 2
    IS_NULL = 5
    IS_OTHER = 6
    MOST_FIELDS = 64

include "_decimals.pxi"


cdef struct Feature:
    uint32_t column
    double value


cdef struct Name:             # of a field
    Place start
    int64_t size


cdef bint is_decimal(Place p, Place end) noexcept nogil:
    """Whether a text is a decimal number, of any size."""
    cdef bint any_digit = False
    cdef bint fraction = False
    p += p < end and (p[0] == c"+" or p[0] == c"-")
    while p < end and (is_digit(p[0]) or (p[0] == c"." and not fraction)):
        any_digit = any_digit or p[0] != c"."
        fraction = fraction or p[0] == c"."
        p += 1
    if not any_digit or p == end:
        return any_digit
    if p[0] != c"e" and p[0] != c"E":
        return False
    p += 1
    p += p < end and (p[0] == c"+" or p[0] == c"-")
    if p == end:
        return False
    while p < end and is_digit(p[0]):
        p += 1
    return p == end


cdef bint read_number(Place start, int64_t size, Bytes* work, double* value) noexcept nogil:
    """Read a decimal number, infinity if it is out of range; False if there is no memory."""
    work.size = 0
    if not reserve(work, size + 1):
        return False
    memcpy(work.data, start, size)
    work.data[size] = 0
    if read_long_number(work.data, value) == NULL:
        value[0] = INFINITY
    return True


cdef bint add_name(const Name* name, Place text, int64_t size, Bytes* work) noexcept nogil:
    """Make "field=text"; False if there is no memory."""
    work.size = 0
    if not reserve(work, name.size + 1 + size):
        return False
    memcpy(work.data, name.start, name.size)
    work.data[name.size] = c"="
    memcpy(work.data + name.size + 1, text, size)
    return True


cdef int64_t merge(
    const int32_t* columns, const floating* values, int64_t count, const Feature* features, int64_t n, int32_t* indices,
    floating* sums, floating* extras,
) noexcept nogil:
    """Merge the entries of a row with sorted features; return how many there are.  Without `extras` they are added."""
    cdef int64_t i = 0
    cdef int64_t j = 0
    cdef int64_t k = 0
    cdef double extra, value
    cdef uint32_t column
    while i < count or j < n:
        column = features[j].column if j < n else 0
        if j == n or (i < count and <uint32_t> columns[i] < column):
            column = <uint32_t> columns[i]
        value = extra = 0
        if i < count and <uint32_t> columns[i] == column:
            value = values[i]
            i += 1
        while j < n and features[j].column == column:
            extra += features[j].value
            j += 1
        indices[k] = <int32_t> column
        if extras == NULL:
            sums[k] = <floating> (value + extra)
        else:
            sums[k], extras[k] = <floating> value, <floating> extra
        k += 1
    return k


def add_fields(
    int64_t[::1] new_indptr, int32_t[::1] new_indices, floating[::1] new_values, floating[::1] extras,
    double[::1] squares, const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] values,
    const uint8_t[::1] text, const int64_t[:, ::1] starts, const int64_t[:, ::1] stops, const uint8_t[:, ::1] kinds,
    list names, bint decimals, int64_t n_features,
):
    """Rows with the fields of their records as further features; return the number of their entries.

    new_indptr, new_indices, new_values  get the rows, whose columns rise strictly
    extras     gets the values of the fields, which are not in `new_values` then; if it is empty, they are added
    squares    get the squared lengths of the rows, not finite where a number is out of range
    starts, stops, kinds   by field and record: its span in `text`, and its kind
    names      the names of the fields
    decimals   a text that is a decimal number counts as one, and an empty one as none
    """
    cdef Py_ssize_t n_rows = indptr.shape[0] - 1
    cdef Py_ssize_t n_fields = len(names)
    cdef Py_ssize_t nnz = indices.shape[0]
    cdef Py_ssize_t room = min(new_indices.shape[0], new_values.shape[0])
    cdef Py_ssize_t row, field, at
    cdef Name[MOST_FIELDS] fields
    cdef Feature[MOST_FIELDS] features
    cdef Feature feature
    cdef int64_t n, count, size, total = 0
    cdef Place start
    cdef Place base
    cdef Bytes work
    cdef floating* more = NULL
    cdef const int32_t* columns
    cdef const floating* known
    cdef bint fits = True
    cdef unsigned int before
    if extras.shape[0]:
        more = &extras[0]
        room = min(room, extras.shape[0])
    if n_rows < 0 or not 1 <= n_fields <= MOST_FIELDS or not 1 <= n_features < 2**31 or values.shape[0] < nnz:
        raise ValueError("the arrays do not fit together")
    if min(starts.shape[0], stops.shape[0], kinds.shape[0]) < n_fields or not text.shape[0]:
        raise ValueError("there are fewer spans than fields")
    if min(starts.shape[1], stops.shape[1], kinds.shape[1], squares.shape[0], new_indptr.shape[0] - 1) < n_rows:
        raise ValueError("there are fewer spans than rows")
    if room < nnz + n_rows * n_fields:
        raise ValueError("the arrays of entries are too short")
    for row in range(n_rows):
        if not 0 <= indptr[row] <= indptr[row + 1] <= nnz:
            raise ValueError("the bounds of the rows are not sound")
        for field in range(n_fields):
            if not 0 <= starts[field, row] <= stops[field, row] <= text.shape[0]:
                raise ValueError("a span is out of range")
    for field in range(n_fields):
        name = names[field]
        if not isinstance(name, bytes):
            raise TypeError("the names must be bytes")
        fields[field] = Name(<Place> PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name))
    new_indptr[0] = 0
    if not n_rows:
        return 0
    base = &text[0]
    columns = &indices[0] if nnz else &new_indices[0]    # without entries, any place that is one
    known = &values[0] if nnz else &new_values[0]
    work.data, work.size, work.room = NULL, 0, 0
    with nogil:
        before = keep_subnormals()
        for row in range(n_rows):
            n = 0
            for field in range(n_fields):
                start, size = base + starts[field, row], stops[field, row] - starts[field, row]
                if kinds[field, row] in (IS_MISSING, IS_NULL, IS_OTHER) or (decimals and size == 0):
                    continue
                feature.value = 1
                if kinds[field, row] == IS_NUMBER or (decimals and is_decimal(start, start + size)):
                    fits = read_number(start, size, &work, &feature.value)
                    feature.column = column_of(murmur(fields[field].start, fields[field].size), <uint32_t> n_features)
                else:
                    fits = add_name(&fields[field], start, size, &work)
                    if fits:
                        size += fields[field].size + 1
                        feature.column = column_of(murmur(work.data, size), <uint32_t> n_features)
                if not fits:
                    break
                if feature.value == 0:
                    continue
                at = n
                while at and features[at - 1].column > feature.column:
                    features[at] = features[at - 1]
                    at -= 1
                features[at] = feature
                n += 1
            if not fits:
                break
            count = indptr[row + 1] - indptr[row]
            count = merge(
                columns + indptr[row], known + indptr[row], count, features, n, &new_indices[0] + total,
                &new_values[0] + total, NULL if more == NULL else more + total,
            )
            squares[row] = squared_length(&new_values[0] + total, count)
            if more != NULL:
                squares[row] += squared_length(more + total, count)
            total += count
            new_indptr[row + 1] = total
        as_before(before)
        free(work.data)
    if not fits:
        raise MemoryError
    return total


def columns_of(list names, int64_t n_features):
    """The columns of features with these names, which are bytes."""
    if not 1 <= n_features < 2**31:
        raise ValueError("n_features must be between 1 and 2^31 - 1")
    return [column_of(murmur(name, len(name)), <uint32_t> n_features) for name in names]
