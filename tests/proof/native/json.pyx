"""Door: JSON lines, against a recursive reader that goes byte by byte."""

include "records.pxi"

cdef enum:
    A, B_C, TEXT, N_FIELDS
cdef struct Value:
    int kind
    int64_t size
    uint8_t[LONGEST_INPUT + 8] text
cdef struct State:
    Place end                 # of the line
    bint literal              # "b.c" was found by its whole name
    Value[N_FIELDS] values

FIELDS_WANTED = JsonFields(["a", "b.c", "text"])
ROOMS = [rooms(2, N_FIELDS), rooms(LONGEST_INPUT + 1, N_FIELDS)]


cdef Place space(Place p) noexcept nogil:
    while p[0] == c" " or p[0] == c"\t" or p[0] == c"\r":
        p += 1
    return p


cdef Place string(Place p, uint8_t* out, int64_t* size, bint* lone) noexcept nogil:
    """Unescape the string from p on, behind its opening quote."""
    cdef int64_t n = 0
    cdef int64_t code, low
    lone[0] = False
    while p[0] != c'"':
        if p[0] < 32:
            return NULL
        if p[0] != c"\\":
            out[n] = p[0]
            n += 1
            p += 1
            continue
        p += 1
        if p[0] == c"u":
            code = hexadecimal(p + 1)
            if code < 0:
                return NULL
            p += 5
            if 0xD800 <= code <= 0xDBFF and p[0] == c"\\" and p[1] == c"u":
                low = hexadecimal(p + 2)
                if low < 0:
                    return NULL
                if 0xDC00 <= low <= 0xDFFF:
                    code = 0x10000 + (code - 0xD800) * 1024 + low - 0xDC00
                    p += 6
            if 0xD800 <= code <= 0xDFFF:
                lone[0] = True
            n += utf8(code, out + n)
            continue
        out[n] = (c'"' if p[0] == c'"' else c"\\" if p[0] == c"\\" else c"/" if p[0] == c"/" else 8 if p[0] == c"b"
                  else 12 if p[0] == c"f" else 10 if p[0] == c"n" else 13 if p[0] == c"r" else 9 if p[0] == c"t" else 0)
        if out[n] == 0:
            return NULL
        n += 1
        p += 1
    size[0] = n
    return p + 1


cdef int64_t hexadecimal(Place p) noexcept nogil:
    cdef int64_t code = 0
    cdef int k
    for k in range(4):
        if c"0" <= p[k] <= c"9":
            code = 16 * code + p[k] - c"0"
        elif c"a" <= p[k] <= c"f":
            code = 16 * code + p[k] - c"a" + 10
        elif c"A" <= p[k] <= c"F":
            code = 16 * code + p[k] - c"A" + 10
        else:
            return -1
    return code


cdef int64_t utf8(int64_t code, uint8_t* out) noexcept nogil:
    if code < 0x80:
        out[0] = <uint8_t> code
        return 1
    if code < 0x800:
        out[0], out[1] = <uint8_t> (0xC0 + code // 64), <uint8_t> (0x80 + code % 64)
        return 2
    if code < 0x10000:
        out[0], out[1] = <uint8_t> (0xE0 + code // 4096), <uint8_t> (0x80 + code // 64 % 64)
        out[2] = <uint8_t> (0x80 + code % 64)
        return 3
    out[0], out[1] = <uint8_t> (0xF0 + code // 262144), <uint8_t> (0x80 + code // 4096 % 64)
    out[2], out[3] = <uint8_t> (0x80 + code // 64 % 64), <uint8_t> (0x80 + code % 64)
    return 4


cdef Place number(Place p) noexcept nogil:
    cdef Place first
    if p[0] == c"-":
        p += 1
    first = p
    while c"0" <= p[0] <= c"9":
        p += 1
    if p == first or (first[0] == c"0" and p > first + 1):
        return NULL
    if p[0] == c".":
        p += 1
        first = p
        while c"0" <= p[0] <= c"9":
            p += 1
        if p == first:
            return NULL
    if p[0] == c"e" or p[0] == c"E":
        p += 1
        if p[0] == c"+" or p[0] == c"-":
            p += 1
        first = p
        while c"0" <= p[0] <= c"9":
            p += 1
        if p == first:
            return NULL
    return p


cdef Place value(Place p, State* state, int depth, uint32_t hits, bint inner) noexcept nogil:
    """Read the value at p, which is that of the fields in `hits`, and may have "c" of "b.c" in it."""
    cdef uint8_t[LONGEST_INPUT + 8] text
    cdef int64_t size = 0
    cdef bint lone = False
    cdef Place start = p
    cdef int kind
    cdef uint32_t wanted
    cdef bint leads
    if p[0] == c'"':
        p = string(p + 1, text, &size, &lone)
        if p == NULL or (hits and lone):
            return NULL
        put_value(state, hits, IS_STRING, text, size)
        return p
    if p[0] == c"[" or p[0] == c"{":
        if depth == DEPTH:
            return NULL
        put_value(state, hits, IS_OTHER, NULL, 0)
        p = space(p + 1)
        if p[0] == (c"]" if start[0] == c"[" else c"}"):
            return p + 1
        while True:
            wanted, leads = 0, False
            if start[0] == c"{":
                if p[0] != c'"':
                    return NULL
                p = string(p + 1, text, &size, &lone)
                if p == NULL:
                    return NULL
                if not lone and depth == 0:
                    wanted = ((size == 1 and text[0] == c"a") << A | (size == 3 and memcmp(text, b"b.c", 3) == 0) << B_C
                              | (size == 4 and memcmp(text, b"text", 4) == 0) << TEXT)
                    state.literal = state.literal or wanted >> B_C & 1
                    if size == 1 and text[0] == c"b" and not state.literal:
                        leads = True
                        put_value(state, 1 << B_C, IS_MISSING, NULL, 0)
                elif not lone and inner and not state.literal and size == 1 and text[0] == c"c":
                    wanted = 1 << B_C
                p = space(p)
                if p[0] != c":":
                    return NULL
                p = space(p + 1)
            p = value(p, state, depth + 1, wanted, leads)
            if p == NULL:
                return NULL
            p = space(p)
            if p[0] == (c"]" if start[0] == c"[" else c"}"):
                return p + 1
            if p[0] != c",":
                return NULL
            p = space(p + 1)
    if memcmp(p, b"true", 4) == 0:
        p, kind = p + 4, IS_TRUE
    elif memcmp(p, b"false", 5) == 0:
        p, kind = p + 5, IS_FALSE
    elif memcmp(p, b"null", 4) == 0:
        p, kind = p + 4, IS_NULL
    else:
        p, kind = number(p), IS_NUMBER
        if p == NULL:
            return NULL
    put_value(state, hits, kind, start, p - start)
    return p


cdef void put_value(State* state, uint32_t hits, int kind, const uint8_t* text, int64_t size) noexcept nogil:
    cdef int k
    for k in range(N_FIELDS):
        if hits >> k & 1:
            state.values[k].kind, state.values[k].size = kind, size
            if size:
                memcpy(state.values[k].text, text, size)


cdef void check(Room room, int result, int64_t n_records, int64_t n_lines, int64_t place, int64_t used) noexcept nogil:
    cdef Place p = room.begin()
    cdef Place end = p + room.size
    cdef Place line = p
    cdef State state
    cdef int64_t number = 0
    cdef int64_t lines = 0
    cdef int status = FINE
    cdef int k
    while p < end:
        line = p
        state.end = <Place> memchr(p, c"\n", end - p)
        p = space(p)
        if p != state.end:
            if number == room.room:
                status = FULL
                break
            state.literal = False
            put_value(&state, 7, IS_MISSING, NULL, 0)
            p = value(p, &state, 0, 0, False) if p[0] == c"{" else NULL
            if p == NULL or space(p) != state.end:
                status = BAD
                break
            if number == n_records or room.places[number] != line - room.text:
                differ(b"a record")
            for k in range(N_FIELDS):
                room.expect(number, k, state.values[k].kind, state.values[k].text, state.values[k].size)
            number += 1
        lines += 1
        p = state.end + 1
    if status == FINE:
        line = end
    if result != status or n_records != number or n_lines != lines or place != line - room.text:
        differ(b"what is accepted")
    if used > room.size:
        differ(b"scratch")


cdef void run(const uint8_t* data, int64_t size) except *:
    cdef int option = data[0] if size else 0
    cdef int64_t length = max(size, 1)
    cdef Room room = <Room> (<list> (<list> ROOMS)[option % 4 > 0])[length - 1]
    room.take(data + (size > 0), length - 1)
    status, records, lines, place, used = split_json(*room.call, FIELDS_WANTED)
    check(room, status, records, lines, place, used)
