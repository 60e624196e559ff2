"""CSV and TSV (RFC 4180, with any delimiter); a part of _records.pyx.

A quote that does not begin a field is an ordinary character, as in Python's csv; text behind a closing quote is not.
"""

cdef Place copy_quoted(Place p, Place end, _Output out, bint wanted, int64_t* lines) noexcept nogil:
    """Read a field whose opening quote is before p: the place behind its closing quote, or NULL."""
    cdef Place quote
    while True:
        quote = find_quote(p, end, lines)
        if quote == end:
            return NULL
        if quote[1] == c'"':                # two of them stand for one
            if wanted:
                memcpy(out.scratch + out.used, p, quote + 1 - p)
                out.used += quote + 1 - p
            p = quote + 2
            continue
        if wanted:
            memcpy(out.scratch + out.used, p, quote - p)
            out.used += quote - p
        return quote + 1


cdef inline Place skip_quoted(Place p, Place end) noexcept nogil:
    """The place behind the closing quote of a field whose opening quote is before p, or NULL."""
    while True:
        p = <Place> memchr(p, c'"', end - p)
        if p == NULL:
            return NULL
        if p + 1 == end or p[1] != c'"':
            return p + 1
        p += 2


cdef inline bint is_line_end(Place p) noexcept nogil:
    return p[0] == c"\n" or (p[0] == c"\r" and p[1] == c"\n")


cdef Place read_csv_record(
    Place p, _Output out, const int64_t* field_of, int64_t n_fields, uint8_t delimiter, int64_t* lines,
) noexcept nogil:
    """Read a record: the place of its line end (LF), or NULL."""
    cdef int64_t column = 0
    cdef int64_t field, start
    cdef Place first
    while column < n_fields:
        field = field_of[column]
        if p[0] == c'"':
            start = out.used
            p = copy_quoted(p + 1, out.end, out, field >= 0, lines)
            if p == NULL:
                return NULL
            if field >= 0:
                out.put(field, IS_STRING, start, out.used)
        else:
            first = p
            p = field_end(p, delimiter)
            if field >= 0:
                out.copy(field, first, p)
        column += 1
        if p[0] == delimiter:
            p += 1
            continue
        if is_line_end(p) and column == n_fields:
            return p + (p[0] == c"\r")
        return NULL
    return NULL


cdef _check_delimiter(int delimiter):
    if not 0 <= delimiter < 256 or delimiter in b'"\r\n':
        raise ValueError("the delimiter must be a byte other than a quote or a line end")


def split_csv(
    int64_t[::1] places, int64_t[:, ::1] starts, int64_t[:, ::1] stops, uint8_t[:, ::1] kinds, uint8_t[::1] scratch,
    const uint8_t[::1] text, int64_t start, int64_t stop, int64_t n_records, int64_t used, const int64_t[::1] columns,
    int64_t n_fields, int delimiter,
):
    """Records of `n_fields` fields; field k of the arrays is column columns[k].  Empty lines are no records."""
    cdef _Output out = _Output(places, starts, stops, kinds, scratch, text, start, stop, n_records, used)
    cdef Place p = out.text + start
    cdef Place record = p
    cdef int64_t lines = 0
    cdef int64_t lines_in_record, used_before, k
    cdef int status = FINE
    cdef int64_t[::1] field_of
    _check_delimiter(delimiter)
    if n_fields < 1 or (out.room and out.fields != columns.shape[0]):
        raise ValueError("expected a field at least, and as many in the arrays as there are columns")
    field_of = np.full(n_fields, -1, np.int64)
    for k in range(columns.shape[0]):
        if not 0 <= columns[k] < n_fields or field_of[columns[k]] >= 0:
            raise ValueError("columns must be different ones of the record")
        field_of[columns[k]] = k
    with nogil:
        while p < out.end:
            record = p
            if is_line_end(p):
                p += 1 + (p[0] == c"\r")
                lines += 1
                continue
            if out.n == out.room:
                status = FULL
                break
            used_before = out.used
            lines_in_record = 0
            p = read_csv_record(p, out, &field_of[0], n_fields, <uint8_t> delimiter, &lines_in_record)
            if p == NULL:
                out.used = used_before
                status = BAD
                break
            out.places[out.n] = record - out.text
            out.n += 1
            lines += lines_in_record + 1
            p += 1
    return out.result(status, lines, record if status else p)


cdef inline bint begins_field(Place p, Place start, uint8_t delimiter) noexcept nogil:
    return p == start or (p - 1)[0] == delimiter or (p - 1)[0] == c"\n"


cdef Place opening_quote(Place p, Place start, Place end, uint8_t delimiter) noexcept nogil:
    """The next quote from p on that begins a field, or `end`; p is not in a quoted field, `start` begins a record."""
    while True:
        p = <Place> memchr(p, c'"', end - p)
        if p == NULL:
            return end
        if begins_field(p, start, delimiter):
            return p
        p += 1


def end_of_record(const uint8_t[::1] text, int64_t place, int64_t stop, int delimiter):
    """The place behind the record that begins at `place`, sound or not; `stop` if it has no end before."""
    cdef Place start
    cdef Place end
    cdef Place p
    cdef Place line_end = NULL
    cdef Place quote
    _check_delimiter(delimiter)
    if not 0 <= place <= stop <= text.shape[0]:
        raise ValueError("the record lies outside of the text")
    if place == stop:
        return stop
    start = p = &text[place]
    end = start + (stop - place)
    with nogil:
        while p < end:
            if line_end < p:                # not again for each quote
                line_end = <Place> memchr(p, c"\n", end - p)
            if line_end == NULL:
                p = end
                break
            quote = opening_quote(p, start, line_end, <uint8_t> delimiter)
            if quote == line_end:
                p = line_end + 1
                break
            p = skip_quoted(quote + 1, end)
            if p == NULL:
                p = end
                break
    return place + (p - start)


def end_of_last_record(const uint8_t[::1] text, int64_t start, int64_t filled, int delimiter):
    """The place behind the last complete record of text[start:filled], of which the first one begins at `start`."""
    cdef Place first
    cdef Place end
    cdef Place p
    cdef Place quote
    cdef Place line_end
    cdef Place last
    _check_delimiter(delimiter)
    if not 0 <= start <= filled <= text.shape[0]:
        raise ValueError("the records lie outside of the text")
    if start == filled:
        return start
    first = p = last = &text[start]
    end = first + (filled - start)
    with nogil:
        while p != NULL and p < end:
            quote = opening_quote(p, first, end, <uint8_t> delimiter)
            line_end = last_line_end(p, quote)
            if line_end != NULL:
                last = line_end + 1
            if quote == end:
                break
            p = skip_quoted(quote + 1, end)
    return start + (last - first)
