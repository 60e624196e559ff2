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


cdef inline uint64_t hashed_index(index_t index, int bits) noexcept nogil:
    return <uint64_t> index * GOLDEN >> (64 - bits)


cdef bint hash_and_sort(index_t* indices, floating* values, Py_ssize_t n, int bits) noexcept nogil:
    """Hash the indices and sort, eight at once; False, with nothing done, if that cannot be or three are equal.

    The keys are hashed indices with the place of an entry behind each.  The sum of three values depends on their order,
    which is that of `sorted_row`.
    """
    cdef uint32_t[MOST_SORTED] keys
    cdef uint32_t[2 * MOST_SORTED + 64] in_order
    cdef floating[MOST_SORTED] unsorted
    cdef int shift = 64 - zeros_above(<uint64_t> n)      # bits of a place
    cdef uint32_t mask = (<uint32_t> 1 << shift) - 1
    cdef uint32_t equal = 0
    cdef Py_ssize_t k
    if not sorts_at_once or n > MOST_SORTED or bits + shift > 32:
        return False
    for k in range(n):
        keys[k] = <uint32_t> (hashed_index(indices[k], bits) << shift) | <uint32_t> k
    sort_keys(in_order, keys, n)
    for k in range(n - 2):
        equal |= (in_order[k] ^ in_order[k + 2]) <= mask
    if equal:
        return False
    memcpy(unsorted, values, n * sizeof(floating))
    for k in range(n):
        indices[k] = <index_t> (in_order[k] >> shift)
        values[k] = unsorted[in_order[k] & mask]
    return True


cdef Py_ssize_t hashed_row(index_t* indices, floating* values, Py_ssize_t n, int bits) noexcept nogil:
    """Hash the indices to `bits` bits, sort, and add up the values of equal ones; return how many are left."""
    cdef Py_ssize_t k
    cdef Py_ssize_t kept = 0
    if not hash_and_sort(indices, values, n, bits):
        for k in range(n):
            indices[k] = <index_t> hashed_index(indices[k], bits)
        sorted_row(indices, values, n)
    if rising(indices, n):
        return n
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
