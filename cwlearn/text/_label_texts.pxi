"""Labels that are texts, at the beginning of a line; a part of _svmlight.pyx."""

cdef Place read_text(Place p, Place end) noexcept nogil:
    """The place behind a label that is a text, or NULL if that is none."""
    cdef Place start = p
    cdef uint32_t code = 0
    cdef int length
    while not ends_here(p):
        length = 1 if p[0] < 0x80 else decoded(p, end, &code)
        if not length or p[0] <= c" " or p[0] == 0x7F or p[0] == c":" or p[0] == c",":
            return NULL
        p += length
    return p if 0 < p - start <= LONGEST else NULL


cdef Place read_set(Place p, Place end) noexcept nogil:
    """The place behind labels with commas between them: p itself if an entry begins there; NULL if that is neither."""
    cdef Place start = p
    cdef Place label = p
    cdef uint32_t code = 0
    cdef int length
    while True:
        if p[0] == c":":
            return start
        if p[0] == c"," or ends_here(p):
            if not 0 < p - label <= LONGEST:
                return NULL
            if p[0] != c",":
                return p
            label = p + 1
            p += 1
            continue
        length = 1 if p[0] < 0x80 else decoded(p, end, &code)
        if not length or p[0] <= c" " or p[0] == 0x7F:
            return NULL
        p += length
