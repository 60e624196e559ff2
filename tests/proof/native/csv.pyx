"""Door: CSV and TSV, against a reader that goes byte by byte."""

include "records.pxi"

ROOMS = [[rooms(room, fields) for room in (2, LONGEST_INPUT + 1)] for fields in range(1, MOST_FIELDS + 1)]
COLUMNS = [view64(np.arange(fields)[::-1].copy()) for fields in range(1, MOST_FIELDS + 1)]


cdef Place slow_field(Place p, Place end, uint8_t delimiter, uint8_t* out, int64_t* size, int64_t* lines) noexcept nogil:
    """Read a field: the place behind it, or NULL if its quote is not closed."""
    cdef int64_t n = 0
    if p[0] != c'"':
        while p[0] != delimiter and p[0] != c"\n" and p[0] != c"\r":
            out[n] = p[0]
            n += 1
            p += 1
    else:
        p += 1
        while p < end and (p[0] != c'"' or (p + 1 < end and p[1] == c'"')):
            lines[0] += p[0] == c"\n"
            out[n] = p[0]
            n += 1
            p += 2 if p[0] == c'"' else 1
        if p == end:
            return NULL
        p += 1
    size[0] = n
    return p


cdef void check(Room room, uint8_t delimiter, int result, int64_t n_records, int64_t n_lines, int64_t place) noexcept nogil:
    cdef Place p = room.begin()
    cdef Place end = p + room.size
    cdef Place record = p
    cdef uint8_t[LONGEST_INPUT + 8] text
    cdef int64_t number = 0
    cdef int64_t lines = 0
    cdef int64_t inside, column, size
    cdef int status = FINE
    while p < end and status == FINE:
        record = p
        if p[0] == c"\n" or (p[0] == c"\r" and p[1] == c"\n"):
            p += 1 + (p[0] == c"\r")
            lines += 1
            continue
        if number == room.room:
            status = FULL
            break
        inside = 0
        status = BAD
        for column in range(room.fields):
            p = slow_field(p, end, delimiter, text, &size, &inside)
            if p == NULL:
                break
            if number < n_records:
                room.expect(number, room.fields - 1 - column, IS_STRING, text, size)
            if column + 1 < room.fields:
                if p[0] != delimiter:
                    break
                p += 1
            elif p[0] == c"\n" or (p[0] == c"\r" and p[1] == c"\n"):
                p += 1 + (p[0] == c"\r")
                status = FINE
        if status == FINE:
            if number == n_records or room.places[number] != record - room.text:
                differ(b"a record")
            number += 1
            lines += inside + 1
    if status == FINE:
        record = end
    if result != status or n_records != number or n_lines != lines or place != record - room.text:
        differ(b"what is accepted")


cdef int64_t slow_cut(Room room, uint8_t delimiter) noexcept nogil:
    """The place behind the last record that is complete, where quotes count that begin a field."""
    cdef Place start = room.begin()
    cdef Place p = start
    cdef Place end = p + room.size
    cdef Place last = p
    cdef bint quoted = False
    while p < end:
        if quoted:
            if p[0] == c'"':
                if p + 1 < end and p[1] == c'"':
                    p += 1
                else:
                    quoted = False
        elif p[0] == c'"':
            quoted = p == start or (p - 1)[0] == delimiter or (p - 1)[0] == c"\n"
        elif p[0] == c"\n":
            last = p + 1
        p += 1
    return last - room.text


cdef void run(const uint8_t* data, int64_t size) except *:
    cdef int option = data[0] if size else 0
    cdef int64_t length = max(size, 1)
    cdef int fields = option // 4 % 4
    cdef Room room = <Room> (<list> (<list> (<list> ROOMS)[fields])[option // 16 % 4 > 0])[length - 1]
    cdef uint8_t delimiter = b",\t;|"[option % 4]
    room.take(data + (size > 0), length - 1)
    status, records, lines, place, used = split_csv(*room.call, COLUMNS[fields], fields + 1, delimiter)
    check(room, delimiter, status, records, lines, place)
    if used > room.size:
        differ(b"scratch")
    if option >= 128 and end_of_last_record(*room.call[5:8], delimiter) != slow_cut(room, delimiter):
        differ(b"the end of the last record")
