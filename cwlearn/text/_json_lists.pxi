"""Lists of labels in JSON; a part of _json_records.pxi."""

cdef inline bint has_nul(_Output out) noexcept nogil:
    """Whether field 0 has NUL, which stands between labels."""
    cdef int64_t start = out.starts[out.n]
    return memchr(out.scratch + start, 0, out.stops[out.n] - start) != NULL


cdef Place read_list(Place p, _Output out) noexcept nogil:
    """Set field 0 to the values of the flat list at p: the place behind it, or NULL if that is none.

    The values are strings, numbers and the words true and false, without NUL, which stands between them.  A list
    without values is as null.
    """
    cdef uint8_t* first = out.scratch + out.used
    cdef uint8_t* end = first
    cdef uint8_t* value
    cdef Place start
    p = behind_space(p + 1)
    if p[0] == c"]":
        out.put(0, IS_NULL, 0, 0)
        return p + 1
    while True:
        if end > first:
            end[0] = 0
            end += 1
        value = end
        start = p
        if p[0] == c'"':
            p = copy_string(p + 1, &end)
            if p == NULL or end == value or memchr(value, 0, end - value) != NULL:
                return NULL
        else:
            if p[0] == c"t" and memcmp(p, b"true", 4) == 0:
                p += 4
            elif p[0] == c"f" and memcmp(p, b"false", 5) == 0:
                p += 5
            else:
                p = skip_number(p)
            if p == NULL:
                return NULL
            memcpy(end, start, p - start)
            end += p - start
        p = behind_space(p)
        if p[0] == c"]":
            break
        if p[0] != c",":
            return NULL
        p = behind_space(p + 1)
    out.put(0, IS_STRING, out.used, end - out.scratch)
    out.used = end - out.scratch
    return p + 1
