"""Inverse document frequencies: how often features occur, and rows weighted by it, without the GIL."""

from libc.math cimport fabs, sqrt
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t

from cwlearn._logarithm cimport logarithm
from cwlearn._squares cimport floating, squared_length

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define cwlearn_prefetch(address) __builtin_prefetch(address, 1, 3)
    #else
    #define cwlearn_prefetch(address) ((void)(address))
    #endif
    """
    void prefetch "cwlearn_prefetch" (const void* address) noexcept nogil

NORMS = {None: 0, "l1": 1, "l2": 2}
cdef enum:
    BY_L1 = 1
    BY_L2 = 2
    MOST_KNOWN = 1048576                     # logarithms in a table
    AHEAD = 96                               # entries whose counts are fetched early
    BLOCK = 64                               # entries that are counted before they are weighed
    MOST = 0xFFFFFFFF
cdef double[MOST_KNOWN] LOGARITHMS           # of the numbers below `n_known`
cdef int64_t n_known = 1


cdef int64_t know_logarithms(int64_t wanted):
    """Fill the table for the numbers below `wanted`, as far as it goes; return how many there are."""
    global n_known
    while n_known < min(wanted, MOST_KNOWN):
        LOGARITHMS[n_known] = logarithm(<double> n_known)
        n_known += 1
    return n_known


cdef inline double log_of(int64_t number, int64_t known) noexcept nogil:
    return LOGARITHMS[number] if number < known else logarithm(<double> number)


cdef struct Weighing:         # what is the same for all rows
    uint32_t* counts
    int64_t known             # logarithms
    int norm
    bint count
    bint weigh


cdef inline void look_up(
    const Weighing* s, const int32_t* indices, const floating* values, uint32_t* seen, Py_ssize_t n, Py_ssize_t last,
    bint count, bint more,
) noexcept nogil:
    """Count the features of a block, and write their counts to `seen`.

    What lies anywhere in memory is fetched early: the next counts, also those of later rows, up to indices[last], and
    the logarithms of these counts, which are needed next.
    """
    cdef uint32_t number
    cdef Py_ssize_t k
    for k in range(n):
        prefetch(s.counts + indices[k + AHEAD if k + AHEAD < last else last])
        number = s.counts[indices[k]]
        if count:
            number += number != <uint32_t> MOST and not (more and values[k] == 0)
            s.counts[indices[k]] = number
        seen[k] = number
        prefetch(LOGARITHMS + (1 + <int64_t> number if number < MOST_KNOWN else 0))


cdef inline double weigh_block(
    const Weighing* s, const uint32_t* seen, const floating* values, double* room, Py_ssize_t n, double whole,
    double total, int norm,
) noexcept nogil:
    """Write weighted values to `room`; return the total with them."""
    cdef Py_ssize_t k
    for k in range(n):
        room[k] = values[k] * (whole - log_of(1 + <int64_t> seen[k], s.known))
        if norm == BY_L1:
            total += fabs(room[k])
        elif norm == BY_L2:
            total += room[k] * room[k]
    return total


cdef inline double go_through(
    const Weighing* s, const int32_t* indices, const floating* values, double* room, Py_ssize_t n, Py_ssize_t last,
    double whole, int norm, bint count, bint weigh, bint more,
) noexcept nogil:
    """Count the features of a row, and write its weighted values to `room`; return what they are divided by."""
    cdef uint32_t[BLOCK] seen
    cdef double total = 0
    cdef Py_ssize_t size
    cdef Py_ssize_t k = 0
    while k < n:
        size = n - k if n - k < BLOCK else BLOCK
        look_up(s, indices + k, values + k, seen, size, last - k, count, more)
        if weigh:
            total = weigh_block(s, seen, values + k, room + k, size, whole, total, norm)
        k += size
    if norm == BY_L2:
        total = sqrt(total)
    return total if total != 0 else 1


cdef double go_through_row(
    const Weighing* s, const int32_t* indices, const floating* values, double* room, Py_ssize_t n, Py_ssize_t last,
    double whole, bint more,
) noexcept nogil:
    # Constant arguments: the compiler makes a loop for each.
    if s.count and s.weigh and s.norm == BY_L2 and not more:
        return go_through(s, indices, values, room, n, last, whole, BY_L2, True, True, False)
    if s.weigh and not s.count and s.norm == BY_L2:
        return go_through(s, indices, values, room, n, last, whole, BY_L2, False, True, False)
    return go_through(s, indices, values, room, n, last, whole, s.norm, s.count, s.weigh, more)


cdef bint are_columns(const int32_t* indices, Py_ssize_t n, int64_t n_features) noexcept nogil:
    """Whether all indices are below `n_features`, and none is below 0."""
    cdef uint32_t last = <uint32_t> ((n_features if n_features < INT32_MAX else INT32_MAX) - 1)
    cdef uint32_t outside = 0                # its highest bit: that of an index, or of what is left up to the last one
    cdef Py_ssize_t k
    for k in range(n):
        outside |= <uint32_t> indices[k] | (last - <uint32_t> indices[k])
    return not outside >> 31 and (n_features > 0 or n == 0)


cdef inline void weigh_row(
    const Weighing* s, const int32_t[::1] indices, const floating[::1] values, const floating[::1] extras,
    floating[::1] weighed, double[::1] squares, double[::1] room, Py_ssize_t row, Py_ssize_t start, Py_ssize_t n,
    int64_t n_documents,
) noexcept nogil:
    """Count the features of a row of n entries from `start` on, weigh its values, or both."""
    cdef bint more = extras.shape[0] > 0
    cdef double whole, length
    cdef Py_ssize_t k
    if not n:
        if s.weigh:
            squares[row] = 0
        return
    whole = 1 + log_of(1 + n_documents, s.known)
    length = go_through_row(
        s, &indices[start], &values[start], &room[0], n, indices.shape[0] - 1 - start, whole, more,
    )
    if not s.weigh:
        return
    if more:
        for k in range(n):
            weighed[start + k] = <floating> (room[k] / length + <double> extras[start + k])
    else:
        for k in range(n):                   # + 0: a value is never -0
            weighed[start + k] = <floating> (room[k] / length + 0.0)
    squares[row] = squared_length(&weighed[start], n)


cdef int check_arrays(
    const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] values, const floating[::1] extras,
    const floating[::1] weighed, const double[::1] squares, const double[::1] room, int64_t n_features, int norm,
) except -1:
    """Refuse rows that would reach beyond memory."""
    cdef Py_ssize_t row
    cdef Py_ssize_t n_rows = indptr.shape[0] - 1
    cdef Py_ssize_t nnz = indices.shape[0]
    if 0 < extras.shape[0] < nnz:
        raise ValueError("there must be an extra for each value, or none")
    if n_rows < 0 or squares.shape[0] < n_rows or values.shape[0] < nnz or weighed.shape[0] < nnz:
        raise ValueError("the arrays do not fit together")
    if not 0 <= norm <= 2:
        raise ValueError("there is no such norm")
    for row in range(n_rows):
        if not 0 <= indptr[row] <= indptr[row + 1] <= nnz or indptr[row + 1] - indptr[row] > room.shape[0]:
            raise ValueError("the bounds of the rows are not sound")
    if nnz and not are_columns(&indices[0], nnz, n_features):
        raise ValueError("a column is out of range")
    return 0


cdef int64_t number_of(const int64_t[::1] documents) except -1:
    """The only number of an array.  It changes with the counts, so that no interruption of Python comes between."""
    if documents.shape[0] != 1 or documents[0] < 0:
        raise ValueError("there is no such number of documents")
    return documents[0]


def weigh_rows(
    uint32_t[::1] counts, int64_t[::1] documents, const int64_t[::1] indptr, const int32_t[::1] indices,
    const floating[::1] values, const floating[::1] extras, floating[::1] weighed, double[::1] squares,
    double[::1] room, int norm, bint count, bint weigh,
):
    """Count the features of rows, weigh their values, or both, row by row.

    counts     the documents that have each feature
    documents  their number
    extras     empty, or what is added to each value in the end; then an entry without a value is no feature to count
    weighed    gets the weighted values; it may be `values` itself
    squares    get the squared lengths of the rows
    room       for the values of the longest row

    A value is multiplied by ln((1 + n) / (1 + count)) + 1, as in scikit-learn, with the n documents so far; then the
    row is divided by its norm.
    """
    cdef Py_ssize_t row
    cdef Py_ssize_t n_rows = indptr.shape[0] - 1
    cdef int64_t n_documents = number_of(documents)
    cdef Weighing s
    check_arrays(indptr, indices, values, extras, weighed, squares, room, counts.shape[0], norm)
    s = Weighing(NULL, know_logarithms(2 + n_documents + (n_rows if count else 0)), norm, count, weigh)
    if counts.shape[0]:
        s.counts = &counts[0]
    with nogil:
        for row in range(n_rows):
            n_documents += count
            weigh_row(
                &s, indices, values, extras, weighed, squares, room, row, indptr[row],
                indptr[row + 1] - indptr[row], n_documents,
            )
    documents[0] = n_documents


def weigh_before_and_after(
    uint32_t[::1] counts, int64_t[::1] documents, const int64_t[::1] indptr, const int32_t[::1] indices,
    floating[::1] before, double[::1] squares_before, floating[::1] after, double[::1] squares_after,
    const floating[::1] extras, const uint8_t[::1] counted, double[::1] room, int norm,
):
    """Weigh each row by the documents before it, and then, if it is `counted`, by these and itself.

    `before` and `after` are two copies of the values.  See `weigh_rows` for the rest.
    """
    cdef Py_ssize_t row, start, n
    cdef Py_ssize_t n_rows = indptr.shape[0] - 1
    cdef int64_t n_documents = number_of(documents)
    cdef Weighing alone, with_itself
    check_arrays(indptr, indices, before, extras, before, squares_before, room, counts.shape[0], norm)
    check_arrays(indptr, indices, after, extras, after, squares_after, room, counts.shape[0], norm)
    if counted.shape[0] < n_rows:
        raise ValueError("the arrays do not fit together")
    alone = Weighing(NULL, know_logarithms(2 + n_documents + n_rows), norm, False, True)
    if counts.shape[0]:
        alone.counts = &counts[0]
    with_itself = alone
    with_itself.count = True
    with nogil:
        for row in range(n_rows):
            start, n = indptr[row], indptr[row + 1] - indptr[row]
            weigh_row(&alone, indices, before, extras, before, squares_before, room, row, start, n, n_documents)
            if counted[row]:
                n_documents += 1
                weigh_row(&with_itself, indices, after, extras, after, squares_after, room, row, start, n, n_documents)
    documents[0] = n_documents
