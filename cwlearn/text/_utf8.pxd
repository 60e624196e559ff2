"""Characters from and to UTF-8 (RFC 3629)."""

from libc.stdint cimport uint8_t, uint32_t

ctypedef const uint8_t* Place


cdef inline int decoded(Place p, Place end, uint32_t* code) noexcept nogil:
    """Decode one character of several bytes; return its length, or 0 if it is not UTF-8 (RFC 3629)."""
    cdef uint32_t first = p[0]
    cdef uint32_t value
    if first < 0xC2:
        return 0
    if first < 0xE0:
        if end - p < 2 or (p[1] & 0xC0) != 0x80:
            return 0
        code[0] = (first & 0x1F) << 6 | (p[1] & 0x3F)
        return 2
    if first < 0xF0:
        if end - p < 3 or (p[1] & 0xC0) != 0x80 or (p[2] & 0xC0) != 0x80:
            return 0
        value = (first & 0x0F) << 12 | <uint32_t> (p[1] & 0x3F) << 6 | (p[2] & 0x3F)
        if value < 0x800 or 0xD800 <= value < 0xE000:
            return 0
        code[0] = value
        return 3
    if first < 0xF5:
        if end - p < 4 or (p[1] & 0xC0) != 0x80 or (p[2] & 0xC0) != 0x80 or (p[3] & 0xC0) != 0x80:
            return 0
        value = ((first & 0x07) << 18 | <uint32_t> (p[1] & 0x3F) << 12 | <uint32_t> (p[2] & 0x3F) << 6
                 | (p[3] & 0x3F))
        if value < 0x10000 or value >= 0x110000:
            return 0
        code[0] = value
        return 4
    return 0


cdef inline int encoded(uint32_t code, uint8_t* out) noexcept nogil:
    """Write a code point as UTF-8; return how many bytes that took."""
    if code < 0x80:
        out[0] = <uint8_t> code
        return 1
    if code < 0x800:
        out[0] = <uint8_t> (0xC0 | code >> 6)
        out[1] = <uint8_t> (0x80 | (code & 0x3F))
        return 2
    if code < 0x10000:
        out[0] = <uint8_t> (0xE0 | code >> 12)
        out[1] = <uint8_t> (0x80 | (code >> 6 & 0x3F))
        out[2] = <uint8_t> (0x80 | (code & 0x3F))
        return 3
    out[0] = <uint8_t> (0xF0 | code >> 18)
    out[1] = <uint8_t> (0x80 | (code >> 12 & 0x3F))
    out[2] = <uint8_t> (0x80 | (code >> 6 & 0x3F))
    out[3] = <uint8_t> (0x80 | (code & 0x3F))
    return 4
