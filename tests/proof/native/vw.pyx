"""Door: lines of Vowpal Wabbit, against a reader that goes byte by byte."""

include "../../../cwlearn/text/_vw.pyx"
include "drive.pxi"
include "decimal_twin.pxi"
include "murmur_twin.pxi"

WIDTHS = [1, 7, 64, 1000, 1 << 20, 2**31 - 1]

cdef struct SlowRow:
    Place label
    Place label_end
    double importance
    int64_t count
    int64_t[LONGEST_INPUT] columns
    double[LONGEST_INPUT] values


cdef class Room:
    """Arrays for texts of one length, just as long as they must be, so that a sanitizer sees what is beyond them."""

    cdef uint8_t* text
    cdef int64_t* indptr
    cdef int32_t* indices
    cdef float* values
    cdef double* importances
    cdef int64_t* starts
    cdef int64_t* stops
    cdef int64_t* places
    cdef int64_t rows
    cdef tuple arrays
    cdef list calls           # by width

    def __init__(self, int64_t size, int64_t rows):
        self.rows = rows
        text = np.full(size + 2 * PADDING_BYTES, c"7", np.uint8)
        indptr, places, starts, stops = (np.zeros(rows + (k == 0), np.int64) for k in range(4))
        indices, values = np.zeros(size // 2 + 1, np.int32), np.zeros(size // 2 + 1, np.float32)
        squares, importances, kinds = np.zeros(rows), np.zeros(rows), np.zeros(rows, np.uint8)
        self.arrays = text, indptr, places, starts, stops, indices, values, squares, importances, kinds
        self.text, self.indptr, self.indices = <uint8_t*> address(text), <int64_t*> address(indptr), <int32_t*> address(indices)
        self.values, self.importances = <float*> address(values), <double*> address(importances)
        self.starts, self.stops, self.places = <int64_t*> address(starts), <int64_t*> address(stops), <int64_t*> address(places)
        first = view64(indptr), view32(indices), view_float(values), view_double(squares), *map(view64, (places, starts, stops))
        place = view8(kinds), view_double(importances), view8(text), PADDING_BYTES, PADDING_BYTES + size, 0
        self.calls = [(*first, *place, width) for width in WIDTHS]


ROOMS = [[Room(size, min(rows, size)) for size in range(1, LONGEST_INPUT + 2)] for rows in (2, LONGEST_INPUT)]
SPLIT = split_vw.__signatures__["float"]


cdef inline bint blank(Place p) noexcept nogil:
    return p[0] == c" " or p[0] == c"\t" or p[0] == c"\v" or p[0] == c"\f" or (p[0] == c"\r" and p[1] == c"\n")


cdef inline bint ends(uint8_t byte) noexcept nogil:
    """Whether this byte ends a word: any white space, or a bar."""
    return byte == c" " or 9 <= byte <= 13 or byte == c"|"


cdef bint read_slowly(Place p, SlowRow* row, int64_t width) noexcept nogil:
    """Read the line from p, which is not blank; False if it has a flaw."""
    cdef uint8_t[2 * LONGEST_INPUT + 8] name
    cdef int64_t prefix = 0
    cdef int64_t size, k
    cdef uint32_t hash
    cdef double scale = 1
    cdef double number
    cdef Place word
    cdef int words = 0
    row.label = row.label_end = NULL
    row.importance = 1
    row.count = 0
    while True:
        while blank(p):
            p += 1
        if p[0] == c"|":
            break
        word = p
        while not ends(p[0]):
            p += 1
        if p[0] == c"|":
            break
        if not blank(p):
            return False
        if word[0] == c"'":
            while blank(p):
                p += 1
            if p[0] != c"|":
                return False
            break
        if words == 0:
            row.label, row.label_end = word, p
        elif words > 2 or not slow_decimal(word, p, &number) or number < 0 or (words == 2 and number != 0):
            return False
        elif words == 1:
            row.importance = number
        words += 1
    while True:
        if p[0] == c"|":
            word = p + 1
            p = word
            while not ends(p[0]) and p[0] != c":":
                p += 1
            size = p - word
            if size > 255 or (size == 0 and p[0] == c":"):
                return False
            memcpy(name, word, size)
            name[size] = c"^"
            prefix = size + 1 if size else 0
            p = slow_value(p, &scale)
            if p == NULL:
                return False
        while blank(p):
            p += 1
        if p[0] == c"\n":
            return True
        if p[0] == c"|":
            continue
        word = p
        while not ends(p[0]) and p[0] != c":":
            p += 1
        if p == word:
            return False
        memcpy(name + prefix, word, p - word)
        hash = slow_murmur(name, prefix + (p - word))
        p = slow_value(p, &number)
        if p == NULL:
            return False
        k = <int32_t> hash
        row.columns[row.count] = (-k if k < 0 else k) % width
        row.values[row.count] = number * scale
        row.count += 1


cdef Place slow_value(Place p, double* value) noexcept nogil:
    """Read ":" and a number, if there is one: the place behind it, where a word must end."""
    cdef Place start = p + 1
    value[0] = 1
    if p[0] == c":":
        p += 1
        while not ends(p[0]) and p[0] != c":":
            p += 1
        if not slow_decimal(start, p, value):
            return NULL
    return p if blank(p) or p[0] == c"|" or p[0] == c"\n" else NULL


cdef void compare(Room room, int64_t number, SlowRow* row) noexcept nogil:
    """Compare a row; the values of a column are added up in their order."""
    cdef int64_t start = room.indptr[number]
    cdef int64_t n = room.indptr[number + 1] - start
    cdef int64_t k, j
    cdef int64_t found = 0
    cdef double sum
    cdef float expected
    for k in range(n):
        if k and room.indices[start + k] <= room.indices[start + k - 1]:
            differ(b"columns do not rise")
        sum = 0
        for j in range(row.count):
            if row.columns[j] == room.indices[start + k]:
                sum = row.values[j] if sum == 0 else sum + row.values[j]
                found += 1
        expected = <float> sum
        if not (expected == room.values[start + k] or expected != expected):
            differ(b"value")
    if found != row.count:
        differ(b"an entry is lost")
    if row.label == NULL:
        if room.starts[number] or room.stops[number]:
            differ(b"a label")
    elif room.starts[number] != row.label - room.text or room.stops[number] != row.label_end - room.text:
        differ(b"label")
    if room.importances[number] != row.importance:
        differ(b"importance")


cdef void check(Room room, int64_t size, int64_t width, int result, int64_t n_rows, int64_t n_lines, int64_t place) noexcept nogil:
    cdef Place p = room.text + PADDING_BYTES
    cdef Place end = p + size
    cdef Place line = p
    cdef Place start
    cdef SlowRow row
    cdef int64_t number = 0
    cdef int64_t lines = 0
    cdef int status = FINE
    while p < end:
        line = start = p
        while blank(p):
            p += 1
        if p[0] != c"\n":
            if number == room.rows:
                status = FULL
                break
            if not read_slowly(p, &row, width):
                status = BAD
                break
            if number == n_rows or room.places[number] != line - room.text:
                differ(b"a row")
            compare(room, number, &row)
            number += 1
        lines += 1
        p = <Place> memchr(start, c"\n", end - start) + 1
    if status == FINE:
        line = end
    if result != status or n_rows != number or n_lines != lines or place != line - room.text:
        differ(b"what is accepted")


cdef void run(const uint8_t* data, int64_t size) except *:
    cdef int option = data[0] if size else 0
    cdef int64_t length = max(size, 1)
    cdef Room room = <Room> (<list> (<list> ROOMS)[option // 6 % 4 > 0])[length - 1]
    if size:
        memcpy(room.text + PADDING_BYTES, data + 1, size - 1)
    room.text[PADDING_BYTES + length - 1] = c"\n"
    status, rows, lines, place = SPLIT(*<tuple> room.calls[option % 6])
    check(room, length, WIDTHS[option % 6], status, rows, lines, place)
