"""Door: lines of svmlight text, against a parser that reads byte by byte."""

include "../../../cwlearn/text/_svmlight.pyx"
include "drive.pxi"
include "decimal_twin.pxi"

cdef struct SlowRow:
    int status
    bint is_row
    bint known                # the twin reads lines without a label and with a number
    double label
    int64_t query
    int64_t n
    int64_t[LONGEST_INPUT] indices
    double[LONGEST_INPUT] values


cdef class Room:
    """Arrays for texts of one length, just as long as they must be, so that a sanitizer sees what is beyond them."""

    cdef uint8_t* text
    cdef int64_t* indptr
    cdef int32_t* narrow
    cdef int64_t* indices
    cdef float* singles
    cdef double* values
    cdef double* squares
    cdef double* labels
    cdef int64_t* places
    cdef int64_t* label_starts
    cdef int64_t* label_stops
    cdef int64_t* queries
    cdef tuple arrays
    cdef list calls           # by options: what `parse_rows` is called with

    def __init__(self, int64_t size):
        rows, entries = size, size // 4 + 1
        text = np.full(size + 2 * PADDING_BYTES, c"7", np.uint8)
        indptr, places, starts, stops, queries = (np.zeros(rows + (k == 0), np.int64) for k in range(5))
        squares, labels = np.zeros(rows), np.zeros(rows)
        narrow, indices = np.zeros(entries, np.int32), np.zeros(entries, np.int64)
        singles, values = np.zeros(entries, np.float32), np.zeros(entries)
        self.arrays = text, indptr, places, starts, stops, queries, squares, labels, narrow, indices, singles, values
        self.text, self.indptr = <uint8_t*> address(text), <int64_t*> address(indptr)
        self.narrow, self.indices = <int32_t*> address(narrow), <int64_t*> address(indices)
        self.singles, self.values = <float*> address(singles), <double*> address(values)
        self.squares, self.labels = <double*> address(squares), <double*> address(labels)
        self.places, self.queries = <int64_t*> address(places), <int64_t*> address(queries)
        self.label_starts, self.label_stops = <int64_t*> address(starts), <int64_t*> address(stops)
        self.calls = []
        rows = [*map(view_double, (squares,)), view64(places), view_double(labels), *map(view64, (starts, stops, queries))]
        for option in range(N_OPTIONS):
            wide, sort, lowest, labelled, bits = parts_of(option)
            entries = (view64(indices), view_double(values)) if wide else (view32(narrow), view_float(singles))
            place = PADDING_BYTES, PADDING_BYTES + size
            self.calls.append((view64(indptr), *entries, *rows, view8(text), *place, 0, labelled, lowest, sort, bits))


N_OPTIONS = 2 * 2 * 2 * 4 * 3


def parts_of(option):
    wide, sort, lowest = option % 2, option // 2 % 2, option // 4 % 2
    return wide, sort, lowest, (1, 0, 2, 3)[option // 8 % 4], (0, 4, 20)[option // 32 % 3]


PARSERS = [parse_rows.__signatures__["int32_t|float"], parse_rows.__signatures__["int64_t|double"]]
ROOMS = [Room(size) for size in range(1, LONGEST_INPUT + 2)]


cdef void read_slowly(Place p, Place end, int labelled, int64_t lowest, bint sort, bint wide, SlowRow* row) noexcept nogil:
    """Read the line from p to its LF at `end`."""
    cdef Place stop = end
    cdef Place comment
    cdef Place token
    cdef Place colon
    cdef int64_t k, j, index
    cdef double value
    cdef bint negative
    cdef int number = 0
    row.status = BAD
    row.n = 0
    row.query = 0
    row.label = 0
    if stop > p and (stop - 1)[0] == c"\r":
        stop -= 1
    comment = <Place> memchr(p, c"#", stop - p)
    if comment == NULL:
        comment = stop
    row.is_row = not labelled
    while True:
        while p < comment and (p[0] == c" " or p[0] == c"\t" or p[0] == c"\v" or p[0] == c"\f"):
            p += 1
        if p == comment:
            break
        row.is_row = True
        token = p
        while p < comment and not (p[0] == c" " or p[0] == c"\t" or p[0] == c"\v" or p[0] == c"\f"):
            p += 1
        number += 1
        if labelled and number == 1:
            if not slow_decimal(token, p, &row.label):
                return
            continue
        if labelled and number == 2 and p - token >= 4 and memcmp(token, b"qid:", 4) == 0:
            negative = token[4] == c"-"
            if not slow_integer(token + 4 + (negative or token[4] == c"+"), p, INT64_MAX, &row.query):
                return
            if negative:
                row.query = -row.query
            continue
        colon = <Place> memchr(token, c":", p - token)
        if colon == NULL or not slow_integer(token + (token[0] == c"+"), colon, INT64_MAX - 1, &index):
            return
        if not wide and index > INT32_MAX:
            row.status = WIDE
            return
        if not slow_decimal(colon + 1, p, &value):
            return
        row.indices[row.n] = index
        row.values[row.n] = value
        row.n += 1
    if sort:                                # by insertion
        for k in range(1, row.n):
            for j in range(k, 0, -1):
                if row.indices[j] < row.indices[j - 1]:
                    index, value = row.indices[j], row.values[j]
                    row.indices[j], row.values[j] = row.indices[j - 1], row.values[j - 1]
                    row.indices[j - 1], row.values[j - 1] = index, value
    for k in range(1, row.n):
        if row.indices[k] <= row.indices[k - 1]:
            return
    if row.n and row.indices[0] < lowest:
        return
    if memchr(comment, c"\r", stop - comment) != NULL:
        return
    row.status = FINE


cdef bint slow_integer(Place p, Place end, uint64_t limit, int64_t* number) noexcept nogil:
    """Whether all from p to end are digits, and the number is not above the limit."""
    cdef uint64_t sum = 0
    if p == end:
        return False
    while p < end:
        if not c"0" <= p[0] <= c"9" or sum > (limit - (p[0] - c"0")) // 10:
            return False
        sum = 10 * sum + (p[0] - c"0")
        p += 1
    number[0] = <int64_t> sum
    return True


cdef void compare(Room room, int64_t number, const SlowRow* row, bint wide, int bits) noexcept nogil:
    """Compare a row with that of the twin, hashed or not."""
    cdef int64_t start = room.indptr[number]
    cdef int64_t n = room.indptr[number + 1] - start
    cdef int64_t k, j, found, times
    cdef uint64_t column
    cdef double value, sum, square
    if not bits:
        if n != row.n:
            differ(b"number of entries")
        for k in range(n):
            if (room.indices[start + k] if wide else room.narrow[start + k]) != row.indices[k]:
                differ(b"index")
            if not (same(room.values[start + k], row.values[k]) if wide
                    else same(room.singles[start + k], <float> row.values[k])):
                differ(b"value")
    else:
        found = 0
        for k in range(n):
            column = <uint64_t> (room.indices[start + k] if wide else room.narrow[start + k])
            if column >> bits or (k and column <= <uint64_t> (
                    room.indices[start + k - 1] if wide else room.narrow[start + k - 1])):
                differ(b"hashed columns do not rise")
            times = 0
            sum = 0
            for j in range(row.n):
                if <uint64_t> row.indices[j] * GOLDEN >> (64 - bits) == column:
                    value = row.values[j] if wide else <float> row.values[j]
                    if times == 0:
                        sum = value
                    elif wide:
                        sum += value
                    else:
                        sum = <float> (<float> sum + <float> value)
                    times += 1
            found += times
            if times == 0 or (times <= 2 and not same(sum, room.values[start + k] if wide else room.singles[start + k])):
                differ(b"hashed value")
        if found != row.n:
            differ(b"a hashed entry is lost")
    square = 0
    for k in range(n):
        value = room.values[start + k] if wide else room.singles[start + k]
        square += value * value
    sum = room.squares[number] - square
    if not (-1e-12 * square <= sum <= 1e-12 * square) and square - square == 0:
        differ(b"squared length")


cdef inline bint same(double a, double b) noexcept nogil:
    return memcmp(&a, &b, 8) == 0 or (a != a and b != b)


cdef void check(Room room, int64_t size, int result, int64_t n_rows, int64_t n_lines, int64_t place, int64_t low,
                int64_t high, int labelled, int64_t lowest, bint sort, bint wide, int bits) noexcept nogil:
    cdef Place p = room.text + PADDING_BYTES
    cdef Place end = p + size
    cdef Place line_end
    cdef SlowRow row
    cdef int64_t number = 0
    cdef int64_t lines = 0
    cdef int64_t least = INT64_MAX
    cdef int64_t most = -1
    row.status = FINE
    while p < end:
        line_end = <Place> memchr(p, c"\n", end - p)
        read_slowly(p, line_end, labelled, lowest, sort, wide, &row)
        if row.status != FINE:
            break
        if row.is_row:
            if number == n_rows:
                differ(b"a row is missing")
            compare(room, number, &row, wide, bits)
            if room.places[number] != p - room.text or room.queries[number] != row.query:
                differ(b"place or query")
            if labelled and not same(room.labels[number], row.label):
                differ(b"label")
            if row.n:
                least = min(least, row.indices[0])
                most = max(most, row.indices[row.n - 1])
            number += 1
        lines += 1
        p = line_end + 1
    if result != row.status or place != p - room.text:
        differ(b"what is accepted")
    if number != n_rows or lines != n_lines or least != low or most != high:
        differ(b"numbers of rows and lines, or lowest and highest index")


cdef void run(const uint8_t* data, int64_t size) except *:
    cdef int option = data[0] if size else 0
    cdef int64_t length = max(size, 1)
    cdef Room room = <Room> (<list> ROOMS)[length - 1]
    cdef tuple call = <tuple> room.calls[option % 96]
    cdef int64_t n_rows, lines, place, low, high, k
    cdef int status
    if size:
        memcpy(room.text + PADDING_BYTES, data + 1, size - 1)
    room.text[PADDING_BYTES + length - 1] = c"\n"
    choose(option >= 96)
    status, n_rows, lines, place, low, high = PARSERS[option % 2](*call)
    if call[13] < BY_TEXT:
        check(room, length, status, n_rows, lines, place, low, high, call[13], call[14], call[15], option % 2, call[16])
    else:
        for k in range(n_rows):
            if not PADDING_BYTES <= room.label_starts[k] <= room.label_stops[k] < PADDING_BYTES + length:
                differ(b"a label lies outside of the text")
            if room.indptr[k + 1] < room.indptr[k]:
                differ(b"bounds fall")


cdef void choose(bint at_once) noexcept:
    global find_marks
    find_marks = find_marks_at_once if at_once and has_vbmi2() else find_marks_anywhere
