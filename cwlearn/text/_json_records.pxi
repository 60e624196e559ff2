"""JSON lines (RFC 8259); a part of _records.pyx.

The syntax of a whole line is checked, but only the fields that are wanted are built.  UTF-8 is not checked here.
"""

cdef struct Name:             # of a field, with the parts between its dots
    Place start
    int64_t size
    int64_t parts


@cython.final
@cython.auto_pickle(False)
cdef class JsonFields:
    """The names of the fields that are wanted.

    A field with a dot in its name is the member of the record with just this name or, if there is none, the member of a
    member: "meta.title" is the title of the object meta.
    """

    cdef readonly tuple names
    cdef bint lists           # the first field may be a flat list, whose values are joined with NUL between them
    cdef list encoded_names   # keep the memory alive
    cdef Name[FIELDS] whole
    cdef uint64_t all         # a bit for each field
    cdef uint64_t dotted

    def __init__(self, names, bint lists=False):
        cdef int64_t k
        self.names = tuple(names)
        self.lists = lists
        if len(self.names) > FIELDS:
            raise ValueError(f"expected at most {FIELDS} fields, got {len(self.names)}")
        self.encoded_names = [name.encode("utf-8") for name in self.names]
        self.all = self.dotted = 0
        for k, name in enumerate(self.encoded_names):
            self.whole[k] = Name(<Place> PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name), 1 + name.count(b"."))
            self.all |= <uint64_t> 1 << k
            if self.whole[k].parts > 1:
                self.dotted |= <uint64_t> 1 << k

    def __len__(self):
        return len(self.names)


cdef inline bint is_part(const Name* name, int64_t number, Place key, int64_t size) noexcept nogil:
    """Whether a key is this part of a name."""
    cdef Place p = name.start
    cdef Place end = name.start + name.size
    cdef Place dot
    while True:
        dot = <Place> memchr(p, c".", end - p)
        if number == 0:
            return (end if dot == NULL else dot) - p == size and memcmp(p, key, size) == 0
        p = dot + 1
        number -= 1


cdef inline Place behind_space(Place p) noexcept nogil:
    """The first byte that is not white space of JSON."""
    while p[0] == c" " or p[0] == c"\t" or p[0] == c"\r":
        p += 1
    return p


cdef inline int hex_digit(uint8_t byte) noexcept nogil:
    """The value of a digit, or -1."""
    if <uint8_t> (byte - c"0") < 10:
        return byte - c"0"
    byte |= 0x20
    return byte - c"a" + 10 if c"a" <= byte <= c"f" else -1


cdef inline int64_t code_unit(Place p) noexcept nogil:
    """The value of four hexadecimal digits, or -1."""
    cdef int64_t unit = 0
    cdef int k, digit
    for k in range(4):
        digit = hex_digit(p[k])
        if digit < 0:
            return -1
        unit = unit << 4 | digit
    return unit


cdef inline uint8_t escaped_byte(uint8_t letter) noexcept nogil:
    """What a backslash and this letter stand for, or 0."""
    if letter == c'"' or letter == c"\\" or letter == c"/":
        return letter
    if letter == c"n":
        return c"\n"
    if letter == c"t":
        return c"\t"
    if letter == c"r":
        return c"\r"
    if letter == c"b":
        return 8
    if letter == c"f":
        return 12
    return 0


cdef Place skip_string(Place p) noexcept nogil:
    """The place behind a string whose first character is at p, or NULL."""
    while True:
        p = string_mark(p)
        if p[0] == c'"':
            return p + 1
        if p[0] != c"\\":
            return NULL
        if p[1] == c"u":
            if code_unit(p + 2) < 0:
                return NULL
            p += 6
        elif escaped_byte(p[1]):
            p += 2
        else:
            return NULL


cdef Place copy_string(Place p, uint8_t** out) noexcept nogil:
    """Copy a string whose first character is at p, unescaped: the place behind it, or NULL; `out` is moved on.

    A surrogate that is not one of a pair is no character.
    """
    cdef uint8_t* o = out[0]
    cdef Place mark
    cdef int64_t code, low
    cdef uint8_t byte
    while True:
        mark = copy_to_mark(p, o)
        o += mark - p
        p = mark
        if p[0] == c'"':
            out[0] = o
            return p + 1
        if p[0] != c"\\":
            return NULL
        if p[1] == c"u":
            code = code_unit(p + 2)
            p += 6
            if code < 0:
                return NULL
            if 0xD800 <= code < 0xE000:
                low = code_unit(p + 2) if p[0] == c"\\" and p[1] == c"u" else -1
                if code >= 0xDC00 or not 0xDC00 <= low < 0xE000:
                    return NULL
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                p += 6
            o += encoded(<uint32_t> code, o)
        else:
            byte = escaped_byte(p[1])
            if not byte:
                return NULL
            o[0] = byte
            o += 1
            p += 2


cdef inline Place behind_digits(Place p) noexcept nogil:
    """The place behind one or more digits, or NULL."""
    if <uint8_t> (p[0] - c"0") > 9:
        return NULL
    while <uint8_t> (p[0] - c"0") <= 9:
        p += 1
    return p


cdef Place skip_number(Place p) noexcept nogil:
    """The place behind a number, or NULL."""
    p += p[0] == c"-"
    p = p + 1 if p[0] == c"0" else behind_digits(p)
    if p != NULL and p[0] == c".":
        p = behind_digits(p + 1)
    if p != NULL and (p[0] == c"e" or p[0] == c"E"):
        p += 1
        p = behind_digits(p + (p[0] == c"+" or p[0] == c"-"))
    return p


cdef inline void put_all(_Output out, uint64_t hits, Kind kind, int64_t start, int64_t stop) noexcept nogil:
    """Set all fields that have a bit."""
    cdef int64_t k = 0
    while hits:
        if hits & 1:
            out.put(k, kind, start, stop)
        hits >>= 1
        k += 1


include "_json_lists.pxi"


cdef struct Wanted:           # what a value is for
    uint64_t hits             # the fields that it is
    uint64_t inner            # the fields that may be within it
    uint64_t literal          # the fields that were found by their whole name, for good


cdef Place read_key(
    Place p, _Output out, JsonFields fields, uint64_t active, int64_t depth, Wanted* wanted,
) noexcept nogil:
    """Read a key whose first character is at p, and find out what its value is for: the place behind it, or NULL.

    `active` are the fields whose first `depth` parts lead to this object.
    """
    cdef Place key = p
    cdef Place after
    cdef int64_t size, k
    cdef uint8_t* end
    cdef uint64_t bit
    wanted.hits = wanted.inner = 0
    p = string_mark(p)
    size = p - key
    if p[0] == c'"':
        after = p + 1
    else:
        after = skip_string(p)
        end = out.scratch + out.used        # the place is free, and will be used by the next value
        if after == NULL or copy_string(key, &end) == NULL:
            return after                    # a key with a lone surrogate is no name
        key = out.scratch + out.used
        size = end - key
    if not active:
        return after
    for k in range(out.fields):
        bit = <uint64_t> 1 << k
        if depth == 0 and size == fields.whole[k].size and memcmp(fields.whole[k].start, key, size) == 0:
            wanted.hits |= bit
            wanted.literal |= bit
        elif active & bit and not wanted.literal & bit and is_part(&fields.whole[k], depth, key, size):
            if depth + 1 == fields.whole[k].parts:
                wanted.hits |= bit
            else:
                wanted.inner |= bit
    put_all(out, wanted.inner, IS_MISSING, 0, 0)    # of two members with the same key the last one counts
    return after


cdef Place read_object(Place p, _Output out, JsonFields fields) noexcept nogil:
    """Read the object at p: the place behind it, or NULL."""
    cdef uint8_t[DEPTH] is_object
    cdef uint64_t[DEPTH] active   # by depth: the fields that may be in this object
    cdef int64_t depth = 0        # of open objects and arrays
    cdef Wanted wanted
    cdef Place start
    cdef Place behind
    cdef uint8_t* end
    cdef Kind kind
    if p[0] != c"{":
        return NULL
    wanted.hits = wanted.literal = 0
    wanted.inner = fields.all
    put_all(out, fields.all, IS_MISSING, 0, 0)
    while True:
        # A value begins at p.
        behind = read_list(p, out) if p[0] == c"[" and fields.lists and wanted.hits == 1 else NULL
        if behind != NULL:
            p = behind
        elif p[0] == c'"':
            if wanted.hits:
                end = out.scratch + out.used
                p = copy_string(p + 1, &end)
                put_all(out, wanted.hits, IS_STRING, out.used, end - out.scratch)
                if fields.lists and wanted.hits == 1 and has_nul(out):
                    out.put(0, IS_OTHER, 0, 0)
                out.used = end - out.scratch
            else:
                p = skip_string(p + 1)
            if p == NULL:
                return NULL
        elif p[0] == c"{" or p[0] == c"[":
            if depth == DEPTH:
                return NULL
            put_all(out, wanted.hits, IS_OTHER, 0, 0)
            is_object[depth] = p[0] == c"{"
            active[depth] = wanted.inner if is_object[depth] else 0
            depth += 1
            p = behind_space(p + 1)
            if p[0] != (c"}" if is_object[depth - 1] else c"]"):
                if is_object[depth - 1]:
                    p = read_member(p, out, fields, active[depth - 1], depth - 1, &wanted)
                    if p == NULL:
                        return NULL
                else:
                    wanted.hits = wanted.inner = 0
                continue
        else:
            start = p
            if p[0] == c"t" and memcmp(p, b"true", 4) == 0:
                p += 4
                kind = IS_TRUE
            elif p[0] == c"f" and memcmp(p, b"false", 5) == 0:
                p += 5
                kind = IS_FALSE
            elif p[0] == c"n" and memcmp(p, b"null", 4) == 0:
                p += 4
                kind = IS_NULL
            else:
                p = skip_number(p)
                kind = IS_NUMBER
                if p == NULL:
                    return NULL
            if wanted.hits:
                memcpy(out.scratch + out.used, start, p - start)
                put_all(out, wanted.hits, kind, out.used, out.used + (p - start))
                out.used += p - start
        # Behind a value, or at the end of an empty object or array.
        while True:
            p = behind_space(p)
            if p[0] == c",":
                break
            if p[0] != (c"}" if is_object[depth - 1] else c"]"):
                return NULL
            p += 1
            depth -= 1
            if depth == 0:
                return p
        p = behind_space(p + 1)
        if is_object[depth - 1]:
            p = read_member(p, out, fields, active[depth - 1], depth - 1, &wanted)
            if p == NULL:
                return NULL
        else:
            wanted.hits = wanted.inner = 0


cdef inline Place read_member(
    Place p, _Output out, JsonFields fields, uint64_t active, int64_t depth, Wanted* wanted,
) noexcept nogil:
    """Read the key at p and the colon: the place of its value, or NULL."""
    if p[0] != c'"':
        return NULL
    p = read_key(p + 1, out, fields, active, depth, wanted)
    if p == NULL:
        return NULL
    p = behind_space(p)
    return behind_space(p + 1) if p[0] == c":" else NULL


def split_json(
    int64_t[::1] places, int64_t[:, ::1] starts, int64_t[:, ::1] stops, uint8_t[:, ::1] kinds, uint8_t[::1] scratch,
    const uint8_t[::1] text, int64_t start, int64_t stop, int64_t n_records, int64_t used, JsonFields fields not None,
):
    """Lines of JSON, an object each.  Blank lines are no records."""
    cdef _Output out = _Output(places, starts, stops, kinds, scratch, text, start, stop, n_records, used)
    cdef Place p = out.text + start
    cdef Place line
    cdef int64_t lines = 0
    cdef int64_t used_before
    cdef int status = FINE
    if out.room and out.fields != len(fields.names):
        raise ValueError("the arrays must have as many fields as are wanted")
    with nogil:
        while p < out.end:
            line = p
            p = behind_space(p)
            if p[0] != c"\n":
                if out.n == out.room:
                    status = FULL
                    break
                used_before = out.used
                p = read_object(p, out, fields)
                if p != NULL:
                    p = behind_space(p)
                if p == NULL or p[0] != c"\n":
                    out.used = used_before
                    status = BAD
                    break
                out.places[out.n] = line - out.text
                out.n += 1
            lines += 1
            p += 1
    return out.result(status, lines, line if status else p)
