"""Rows that were parsed, brought into order, and checksums of lines.  Included by `_svmlight.pyx`."""

cdef inline bint rising(const index_t* indices, Py_ssize_t n) noexcept nogil:
    """Whether each index is larger than the one before."""
    cdef Py_ssize_t k
    cdef index_t falls = 0
    for k in range(1, n):
        falls |= indices[k] <= indices[k - 1]
    return not falls


cdef bint sorted_row(index_t* indices, floating* values, Py_ssize_t n) noexcept nogil:
    """Sort by index, by Shell's method with gaps that shrink by 2.25; False if an index occurs twice."""
    cdef Py_ssize_t gap = 1
    cdef Py_ssize_t k, place
    cdef index_t index
    cdef floating value
    while gap < n:
        gap = 9 * gap // 4 + 1
    while gap > 1:
        gap = 4 * (gap - 1) // 9 if gap > 4 else 1
        for k in range(gap, n):
            index = indices[k]
            value = values[k]
            place = k
            while place >= gap and indices[place - gap] > index:
                indices[place] = indices[place - gap]
                values[place] = values[place - gap]
                place -= gap
            indices[place] = index
            values[place] = value
    for k in range(1, n):
        if indices[k] == indices[k - 1]:
            return False
    return True


cdef Py_ssize_t hashed_row(index_t* indices, floating* values, Py_ssize_t n, int bits) noexcept nogil:
    """Hash the indices to `bits` bits, sort, and add up the values of equal ones; return how many are left."""
    cdef Py_ssize_t k
    cdef Py_ssize_t kept = 0
    for k in range(n):
        indices[k] = <index_t> (<uint64_t> indices[k] * GOLDEN >> (64 - bits))
    sorted_row(indices, values, n)
    for k in range(1, n):
        if indices[k] == indices[kept]:
            values[kept] += values[k]
        else:
            kept += 1
            indices[kept] = indices[k]
            values[kept] = values[k]
    return kept + 1 if n else 0


cdef inline uint64_t mixed(uint64_t h, uint64_t word) noexcept nogil:
    """One-to-one in both arguments, so that only chance can undo a difference."""
    h = (h ^ word) * GOLDEN
    return h ^ h >> 32


cdef uint64_t checksum_of_line(Place p, Place end) noexcept nogil:
    """The even and the odd words of a line by themselves, so that the processor works at two of them at once."""
    cdef uint64_t even = mixed(GOLDEN, <uint64_t> (end - p))    # else a byte of 1 would be as no byte
    cdef uint64_t odd = GOLDEN
    cdef uint64_t[2] words
    while end - p >= 16:
        memcpy(words, p, 16)
        even = mixed(even, little_endian(words[0]))
        odd = mixed(odd, little_endian(words[1]))
        p += 16
    words[0] = words[1] = 0
    memcpy(words, p, end - p)
    return mixed(mixed(even, little_endian(words[0])), mixed(odd, little_endian(words[1])))


def checksum_lines(const uint8_t[::1] text, int64_t start, int64_t stop):
    """A checksum of 64 bits of the lines of text[start:stop].

    The checksum of A followed by B is that of A times LINE_BASE to the power of the number of lines of B, plus that of
    B: so the checksum of a text does not depend on how it was cut into chunks.
    """
    if not 0 <= start <= stop <= text.shape[0] or (start < stop and text[stop - 1] != c"\n"):
        raise ValueError("the text must end with a line")
    cdef uint64_t sum = 0
    cdef Place p
    cdef Place end
    cdef Place line_end
    if start == stop:
        return 0
    p, end = &text[start], &text[stop - 1] + 1
    with nogil:
        while p < end:
            line_end = <Place> memchr(p, c"\n", end - p)
            sum = sum * BASE + checksum_of_line(p, line_end)
            p = line_end + 1
    return sum
