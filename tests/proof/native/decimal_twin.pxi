"""Decimals read slowly: the grammar byte by byte, the value by strtod."""

from libc.stdlib cimport strtod


cdef bint slow_decimal(const uint8_t* p, const uint8_t* end, double* value) noexcept nogil:
    """Whether all from p to end is a decimal that is not out of range."""
    cdef char[LONGEST_INPUT + 8] copy
    cdef int64_t digits = 0
    memcpy(copy, p, end - p)
    copy[end - p] = 0
    if p < end and (p[0] == c"+" or p[0] == c"-"):
        p += 1
    while p < end and c"0" <= p[0] <= c"9":
        p += 1
        digits += 1
    if p < end and p[0] == c".":
        p += 1
        while p < end and c"0" <= p[0] <= c"9":
            p += 1
            digits += 1
    if digits == 0:
        return False
    if p < end and (p[0] == c"e" or p[0] == c"E"):
        p += 1
        if p < end and (p[0] == c"+" or p[0] == c"-"):
            p += 1
        if p == end:
            return False
        while p < end and c"0" <= p[0] <= c"9":
            p += 1
        if not c"0" <= (p - 1)[0] <= c"9":
            return False
    value[0] = strtod(copy, NULL)
    return p == end and value[0] - value[0] == 0
