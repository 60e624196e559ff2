"""svmlight text to CSR arrays, without the GIL.

    line    = [label [" qid:" integer] {" " index ":" value}] ["#" comment] "\\n"

Without labels, every line is a row, even one without data, so that the number of a row is that of its line.

Labels are numbers, or texts without a colon or a comma.  Where a row may have several labels, they are texts with
commas between them, or there is none: then the line begins with an entry.

`parse_rows` stops at the first line that is not of this form.  It does not say what is wrong: `svmlight_errors.py`
reads that one line again, slowly, and explains it.

The parser makes three passes over a window of text.  The first marks all bytes that are not digits, 64 at a time; the
second reads the numbers between the marks, four at a time; the third checks the syntax and writes the entries.  So the
place where a number begins does not depend on the length of the last one, and the processor works at several numbers at
once (Langdale, Lemire, "Parsing gigabytes of JSON per second", VLDB Journal 28, 2019).
"""

from libc.stdint cimport INT32_MAX, INT64_MAX, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

from cwlearn._squares cimport squared_length
from cwlearn.text._utf8 cimport decoded

cdef extern from "_svmlight.h":
    int zeros_above "cwlearn_zeros_above" (uint64_t word) noexcept nogil
    bint has_vbmi2 "cwlearn_has_vbmi2" () noexcept nogil
    int find_marks_anywhere "cwlearn_find_marks_anywhere" (int16_t* out, const uint8_t* start, int size) noexcept nogil
    int find_marks_at_once "cwlearn_find_marks_at_once" (int16_t* out, const uint8_t* start, int size) noexcept nogil
    void stay_a_branch "cwlearn_stay_a_branch" (int64_t variable) noexcept nogil
    uint64_t number_before "cwlearn_number_before" (const uint8_t* end, int64_t count) noexcept nogil
    void four_numbers "cwlearn_four_numbers" (uint32_t* out, const uint8_t* base, const int16_t* marks) noexcept nogil
    void make_locale "cwlearn_make_locale" () noexcept nogil
    double rounded_by_libc "cwlearn_strtod" (const char* text) noexcept nogil
    uint64_t little_endian "cwlearn_little_endian" (uint64_t word) noexcept nogil

cdef extern from "_sorting.h":
    """
    #if defined(__AVX2__) && defined(__GNUC__) && defined(__x86_64__)
    #define cwlearn_sorts_at_once 1
    #else
    #define cwlearn_sorts_at_once 0
    #endif
    """
    enum:
        MOST_SORTED "CWLEARN_MOST_SORTED"
    bint sorts_at_once "cwlearn_sorts_at_once"
    void sort_keys "cwlearn_sort" (uint32_t* out, const uint32_t* keys, Py_ssize_t n) noexcept nogil

cdef extern from "_subnormals.h":
    unsigned int keep_subnormals "cwlearn_keep_subnormals" () noexcept nogil
    void as_before "cwlearn_as_before" (unsigned int before) noexcept nogil

ctypedef fused floating:
    float
    double

ctypedef fused index_t:
    int32_t
    int64_t

ctypedef const uint8_t* Place

PADDING = 64                  # bytes that must stand before and after a text, because words are read beyond its ends
cdef Py_ssize_t PADDED = PADDING
cdef uint64_t GOLDEN = 0x9E3779B97F4A7C15    # 2^64 / golden ratio: multiples of it spread evenly (Knuth, TAOCP 3, 6.4)
LINE_BASE = 0xD1342543DE82EF95    # of checksums (Steele, Vigna, Software: Practice and Experience 52, 2022)
cdef uint64_t BASE = LINE_BASE
cdef enum Status:             # of a line, and so of a text
    FINE, BAD, WIDE, FULL
DONE, BAD_LINE, TOO_WIDE, NEEDS_ROOM = FINE, BAD, WIDE, FULL         # for Python
cdef enum Labelled:
    NOT, BY_NUMBER, BY_TEXT, BY_SET
UNLABELLED, NUMBERS, TEXTS, SETS = NOT, BY_NUMBER, BY_TEXT, BY_SET
cdef enum:
    WINDOW = 2048             # bytes whose marks are found at a time
    LONGEST = 1024            # bytes of a label that is a text
LONGEST_LABEL = LONGEST       # for Python

include "_decimals.pxi"
include "_parsed_rows.pxi"


cdef inline bint is_blank(Place p) noexcept nogil:
    return (p[0] == c" " or p[0] == c"\t" or p[0] == c"\v" or p[0] == c"\f"
            or (p[0] == c"\r" and p[1] == c"\n"))


cdef inline bint ends_here(Place p) noexcept nogil:
    """Whether a token may end before p."""
    return p[0] == c" " or p[0] == c"\n" or p[0] == c"#" or is_blank(p)


cdef Place read_integer(Place p, uint64_t limit, int64_t* number) noexcept nogil:
    """Read any number of digits: the place behind them, or NULL if there are none or the number is above `limit`."""
    cdef uint64_t sum = 0
    if not is_digit(p[0]):
        return NULL
    while is_digit(p[0]):
        if sum > limit // 10:
            return NULL
        sum = 10 * sum + (p[0] - c"0")
        p += 1
    number[0] = <int64_t> sum
    return p if sum <= limit else NULL


include "_label_texts.pxi"


cdef Place read_query(Place p, int64_t* query) noexcept nogil:
    """The number after "qid:", which may have a sign."""
    cdef bint negative = p[0] == c"-"
    p = read_integer(p + (negative or p[0] == c"+"), INT64_MAX, query)
    if negative:
        query[0] = -query[0]
    return p


cdef struct Marks:            # the places of all bytes of a window that are not digits, and the numbers before them
    Place base                # of the window
    Place end                 # of the text
    int64_t next              # number of the next mark
    int64_t count             # of marks
    int16_t* offsets          # offsets[-1] is -1
    uint32_t* numbers


ctypedef int (*FindMarks)(int16_t* out, const uint8_t* start, int size) noexcept nogil

cdef FindMarks find_marks = find_marks_at_once if has_vbmi2() else find_marks_anywhere


def choose_marks(bint at_once):
    """Choose how marks are found, for tests; return whether this processor can do that."""
    global find_marks
    find_marks = find_marks_at_once if at_once and has_vbmi2() else find_marks_anywhere
    return has_vbmi2() or not at_once


cdef void open_window(Marks* marks, Place start) noexcept nogil:
    """Continue with the window from `start`, which is not within a number."""
    cdef int64_t k
    marks.base = start
    marks.next = 0
    marks.count = find_marks(marks.offsets, start, <int> min(WINDOW, marks.end - start))
    for k in range(4):                      # they are read together with the last ones
        marks.offsets[marks.count + k] = 0
    for k in range(0, marks.count, 4):
        four_numbers(marks.numbers + k, start, marks.offsets + k)


cdef inline void go_to(Marks* marks, Place place) noexcept nogil:
    """Make the next mark the first one at `place` or behind it."""
    if place >= marks.base + WINDOW:
        open_window(marks, place)
    while marks.next < marks.count and marks.base + marks.offsets[marks.next] < place:
        marks.next += 1


cdef Place to_token(Marks* marks, Place p) noexcept nogil:
    """The place of the next byte that is not blank; the next mark is the first one from there."""
    while is_blank(p):
        p += 1
    go_to(marks, p)
    return p


cdef Place read_entries(
    Place p, Marks* marks, index_t* indices, floating* values, int64_t* n_entries, int64_t* query, bint may_have_query,
    int* status,
) noexcept nogil:
    """Read the entries from p to the end of the line, in any order: the place of that end, or NULL with a status."""
    cdef int64_t n = 0
    cdef int64_t colon, whole, part, mark, ahead, last
    cdef double value = 0
    cdef int64_t any_index = 0              # their addresses are taken, so they live in memory
    cdef double any_value = 0
    cdef uint8_t behind
    cdef bint negative
    cdef Place base
    cdef const int16_t* offsets = marks.offsets
    cdef const uint32_t* numbers = marks.numbers
    status[0] = BAD
    p = to_token(marks, p)
    while True:
        # Most entries: "index:whole" or "index:whole.part" with a few digits each, then a blank or the line end.
        if marks.count - marks.next < 4 and marks.base + WINDOW < marks.end:
            open_window(marks, p)
        base = marks.base
        mark = marks.next
        last = marks.count - 4              # an entry has four marks at most
        while mark <= last:
            colon = offsets[mark]
            if base[colon] != c":" or <uint64_t> (colon - offsets[mark - 1] - 2) > 7:
                break
            ahead = mark + 1                # an entry may have up to two marks more
            negative = base[colon + 1] == c"-"
            if negative:
                stay_a_branch(ahead)
                ahead += 1
            if <uint64_t> (offsets[ahead] - offsets[ahead - 1] - 2) > 6:
                break
            whole = numbers[ahead]
            behind = base[offsets[ahead]]
            if behind == c".":
                ahead += 1
                part = offsets[ahead] - offsets[ahead - 1] - 1
                if part <= 8:               # the sum is exact: it is less than 10^15
                    value = <double> (whole * WHOLE_TENS[part] + numbers[ahead]) / TENS[part]
                elif not long_decimal_before(base + offsets[ahead], whole, part, &any_value):
                    break
                else:
                    value = any_value
                behind = base[offsets[ahead]]
            else:
                value = <double> whole
            if behind != c" " and behind != c"\n":
                break
            indices[n] = <index_t> numbers[mark]
            values[n] = <floating> (-value if negative else value)
            n += 1
            mark = ahead + 1
            if behind == c"\n":
                marks.next = mark
                n_entries[0] = n
                return base + offsets[ahead]
        if mark > marks.next:
            p = base + offsets[mark - 1] + 1
            marks.next = mark

        # Any other entry, the end of the line, or an error.
        p = to_token(marks, p)
        if p[0] == c"\n" or p[0] == c"#":
            n_entries[0] = n
            return p
        if may_have_query and n == 0 and memcmp(p, b"qid:", 4) == 0:
            may_have_query = False
            p = read_query(p + 4, query)
            if p == NULL or not ends_here(p):
                return NULL
            p = to_token(marks, p)
            continue
        p = read_integer(p + (p[0] == c"+"), INT64_MAX - 1, &any_index)
        if p == NULL or p[0] != c":":
            return NULL
        if index_t is int32_t:
            if any_index > INT32_MAX:
                status[0] = WIDE
                return NULL
        p = read_long_number(p + 1, &any_value)
        if p == NULL or not ends_here(p):
            return NULL
        indices[n] = <index_t> any_index
        values[n] = <floating> any_value
        n += 1
        p = to_token(marks, p)


def parse_rows(
    int64_t[::1] indptr, index_t[::1] indices, floating[::1] values, double[::1] squares, int64_t[::1] places,
    double[::1] labels, int64_t[::1] label_starts, int64_t[::1] label_stops, int64_t[::1] queries,
    const uint8_t[::1] text, int64_t start, int64_t stop, int64_t n_rows, int labelled, int64_t lowest_allowed,
    bint sort, int hash_bits,
):
    """Append the rows of text[start:stop], whole lines, to the first `n_rows` rows in the arrays.

    squares         the squared length of each row, which is not finite where a value is out of range
    places          where the line of each row begins
    labels          if they are numbers; texts lie between label_starts and label_stops
    queries         by row, or empty if they are not wanted
    labelled        UNLABELLED; NUMBERS or TEXTS if lines begin with a label, or have no data and are no rows; SETS if
                    they begin with any number of labels, whose span is that of all of them
    lowest_allowed  the lowest index: 0, or 1 where indices count from one
    sort            accept indices that do not rise
    hash_bits       hash the indices to so many bits, or 0

    Returns (status, rows now, lines read, where it stopped, lowest index, highest index), the indices as written.  The
    status is DONE, BAD_LINE (where: the start of that line), TOO_WIDE for an index beyond int32, or NEEDS_ROOM for more
    rows.

    The columns of the rows are checked here, once: they rise strictly within a row, none is negative, and none is above
    the highest index or, hashed, not below 2^hash_bits.
    """
    cdef int64_t size = stop - start
    cdef int64_t room = min(
        indptr.shape[0] - 1, squares.shape[0], places.shape[0], labels.shape[0], label_starts.shape[0],
        label_stops.shape[0], queries.shape[0] or INT64_MAX,
    )
    if not PADDED <= start <= stop <= text.shape[0] - PADDED or (size and text[stop - 1] != c"\n"):
        raise ValueError("the text must end with a line, between paddings")
    if not 0 <= n_rows <= room:
        raise ValueError("the arrays are too short for the rows that they have")
    # An entry has four bytes ("1:1 "), or one less at the end of a line.
    if not 0 <= indptr[n_rows] <= min(indices.shape[0], values.shape[0]) - size // 4 - 1:
        raise ValueError("the arrays are too short for the entries of the text")
    if not (0 <= hash_bits <= 62 and 0 <= lowest_allowed <= 1):
        raise ValueError("hash_bits must be between 0 and 62, and lowest_allowed 0 or 1")
    cdef Place base = &text[0]
    cdef Place p = base + start
    cdef Place end = base + stop
    cdef Place line = p
    cdef Place line_end
    cdef Place behind
    cdef index_t* index0 = &indices[0]
    cdef floating* value0 = &values[0]
    cdef int64_t n = indptr[n_rows]
    cdef int64_t lines = 0
    cdef int64_t lowest = INT64_MAX
    cdef int64_t highest = -1
    cdef int64_t count = 0
    cdef int64_t query
    cdef double label = 0
    cdef int status = FINE
    cdef bint has_data, is_row
    cdef int16_t[1 + WINDOW + 64] offsets
    cdef uint32_t[WINDOW + 64] numbers
    cdef Marks marks
    offsets[0] = -1
    marks.offsets = offsets + 1
    marks.numbers = numbers
    marks.end = end
    cdef unsigned int before
    with nogil:
        before = keep_subnormals()
        open_window(&marks, p)
        while p < end:
            line = p
            if n_rows == room:
                status = FULL
                break
            while is_blank(p):
                p += 1
            has_data = p[0] != c"\n" and p[0] != c"#"
            is_row = has_data or not labelled
            status = BAD
            count = 0
            query = 0
            if has_data:
                if labelled:
                    if labelled == BY_SET:
                        behind = read_set(p, end)
                    else:
                        behind = read_long_number(p, &label) if labelled == BY_NUMBER else read_text(p, end)
                    if behind == NULL or not (ends_here(behind) or (labelled == BY_SET and behind == p)):
                        break
                    label_starts[n_rows] = p - base
                    label_stops[n_rows] = behind - base
                    p = behind
                p = read_entries(p, &marks, index0 + n, value0 + n, &count, &query, labelled, &status)
                if p == NULL:
                    break
                status = BAD
                if not (sorted_row(index0 + n, value0 + n, count) if sort else rising(index0 + n, count)):
                    break
                if count and index0[n] < lowest_allowed:
                    break
            line_end = p if p[0] == c"\n" else <Place> memchr(p, c"\n", end - p)
            if p[0] == c"#":                # a CR is refused even here: the comment would swallow the lines behind it
                p = <Place> memchr(p, c"\r", line_end - p)
                if p != NULL and p + 1 != line_end:
                    status = BAD
                    break
            status = FINE
            if is_row:
                if count:
                    lowest = min(lowest, <int64_t> index0[n])
                    highest = max(highest, <int64_t> index0[n + count - 1])
                    if hash_bits:
                        count = hashed_row(index0 + n, value0 + n, count, hash_bits)
                squares[n_rows] = squared_length(value0 + n, count)
                n += count
                places[n_rows] = line - base
                labels[n_rows] = label
                if queries.shape[0]:
                    queries[n_rows] = query
                n_rows += 1
                indptr[n_rows] = n
            p = line_end + 1
            lines += 1
        as_before(before)
    return status, n_rows, lines, (line if status else end) - base, lowest, highest
