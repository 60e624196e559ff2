"""Door: fastText lines, label<TAB>text and plain lines, against readers that go byte by byte."""

include "records.pxi"

PREFIXES = [b"_l", b"__label__", b"#"]
ROOMS = [rooms(room, 2) for room in (2, LONGEST_INPUT + 1)]
SPLITTERS = [split_plain, split_tabbed]

cdef struct Text:
    int64_t size
    uint8_t[LONGEST_INPUT + 8] text


cdef void add(Text* text, Place start, Place stop) noexcept nogil:
    memcpy(text.text + text.size, start, stop - start)
    text.size += stop - start


cdef int64_t read_words(
    Place p, Place end, Place prefix, int64_t size, bint every, Text* label, Text* text,
) noexcept nogil:
    """Labels and text of a line; returns how many labels there are."""
    cdef Place line = p
    cdef Place word
    cdef int64_t labels = 0
    label.size = text.size = 0
    while p < end:
        word = p
        while p < end and not blank(p[0]):
            p += 1
        if p > word and p - word >= size and memcmp(word, prefix, size) == 0:
            if labels == 0 or every:
                if every and (labels or p == word + size):
                    label.text[label.size] = c" "
                    label.size += 1
                add(label, word + size, p)
            labels += 1
            if p == end:                    # cut out with the white space before it
                text.size -= text.size > 0
            else:
                p += 1
        else:
            p += p < end
            add(text, word, p)
    return labels


cdef void check(
    Room room, int kind, Place prefix, int64_t size, bint every, int result, int64_t n_records, int64_t n_lines,
    int64_t place,
) noexcept nogil:
    cdef Place p = room.begin()
    cdef Place end = p + room.size
    cdef Place line_end
    cdef Place stop
    cdef Place tab
    cdef Text label, text
    cdef int64_t number = 0
    cdef int64_t lines = 0
    cdef int64_t labels, k
    cdef int status = FINE
    cdef bint empty
    while p < end:
        line_end = stop = <Place> memchr(p, c"\n", end - p)
        empty = True
        for k in range(line_end - p):
            empty = empty and blank(p[k])
        if kind and empty:
            lines += 1
            p = line_end + 1
            continue
        if number == room.room:
            status = FULL
            break
        if stop > p and (stop - 1)[0] == c"\r":
            stop -= 1
        label.size = text.size = labels = 0
        if kind == 0:
            add(&text, p, stop)
        elif kind == 1:
            tab = <Place> memchr(p, c"\t", line_end - p)
            if tab == NULL:
                status = BAD
                break
            add(&label, p, tab)
            if stop > tab:
                add(&text, tab + 1, stop)
        else:
            labels = read_words(p, stop, prefix, size, every, &label, &text)
        if number == n_records or room.places[number] != p - room.text:
            differ(b"a record")
        room.expect(number, 0, IS_STRING if kind == 1 or labels else IS_MISSING, label.text, label.size)
        room.expect(number, 1, IS_STRING, text.text, text.size)
        if kind == 2 and room.counts[number] != labels:
            differ(b"number of labels")
        number += 1
        lines += 1
        p = line_end + 1
    if result != status or n_records != number or n_lines != lines or place != p - room.text:
        differ(b"what is accepted")


cdef void run(const uint8_t* data, int64_t size) except *:
    cdef int option = data[0] if size else 0
    cdef int64_t length = max(size, 1)
    cdef Room room = <Room> (<list> (<list> ROOMS)[option % 4 > 0])[length - 1]
    cdef int kind = min(option // 4 % 8, 2)
    cdef bytes prefix = (<list> PREFIXES)[option // 32 % 3]
    cdef bint every = option >= 128
    room.take(data + (size > 0), length - 1)
    if kind == 2:
        status, records, lines, place, used = split_fasttext(*room.call_counted, prefix, every)
    else:
        status, records, lines, place, used = SPLITTERS[kind](*room.call)
    check(room, kind, <Place> prefix, len(prefix), every, status, records, lines, place)
    if used > room.size:
        differ(b"scratch")
