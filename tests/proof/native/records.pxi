"""Arrays for texts of one length, and what a slow twin says of the records in one; for the doors of documents."""

include "../../../cwlearn/text/_records.pyx"
include "drive.pxi"

cdef enum:
    MOST_FIELDS = 4


cdef class Room:
    """Just as long as the arrays must be, so that a sanitizer sees what is beyond them."""

    cdef uint8_t* text
    cdef int64_t* places
    cdef int64_t* starts
    cdef int64_t* stops
    cdef uint8_t* kinds
    cdef int32_t* counts
    cdef uint8_t* scratch
    cdef int64_t size, room, fields
    cdef tuple arrays
    cdef tuple call           # what every splitter takes
    cdef tuple call_counted

    def __init__(self, int64_t size, int64_t room, int64_t fields):
        cdef int64_t[:, ::1] starts_view, stops_view
        cdef uint8_t[:, ::1] kinds_view
        self.size, self.room, self.fields = size, room, fields
        text = np.full(size + 2 * PADDING_BYTES, c'"', np.uint8)
        places, counts = np.zeros(room, np.int64), np.zeros(room, np.int32)
        starts_view = starts = np.zeros((fields, room), np.int64)
        stops_view = stops = np.zeros((fields, room), np.int64)
        kinds_view = kinds = np.zeros((fields, room), np.uint8)
        scratch = np.zeros(size + SLACKENED, np.uint8)
        self.arrays = text, places, counts, starts, stops, kinds, scratch
        self.text, self.scratch = <uint8_t*> address(text), <uint8_t*> address(scratch)
        self.places, self.counts = <int64_t*> address(places), <int32_t*> address(counts)
        self.starts, self.stops = <int64_t*> address(starts), <int64_t*> address(stops)
        self.kinds = <uint8_t*> address(kinds)
        first = view64(places), <object> starts_view, <object> stops_view, <object> kinds_view
        place = view8(text), PADDING_BYTES, PADDING_BYTES + size, 0, 0
        self.call = *first, view8(scratch), *place
        self.call_counted = *first, view32(counts), view8(scratch), *place

    cdef void take(self, const uint8_t* data, int64_t size) noexcept nogil:
        """Take an input and end it with a line."""
        if size:
            memcpy(self.text + PADDING_BYTES, data, size)
        self.text[PADDING_BYTES + size] = c"\n"

    cdef Place begin(self) noexcept nogil:
        return self.text + PADDING_BYTES

    cdef void expect(self, int64_t record, int64_t field, int kind, const uint8_t* value, int64_t size) noexcept nogil:
        cdef int64_t at = field * self.room + record
        if self.kinds[at] != kind:
            differ(b"kind of a field")
        if self.stops[at] - self.starts[at] != size or memcmp(self.scratch + self.starts[at], value, size):
            differ(b"text of a field")


def rooms(room, fields):
    """By size of the text."""
    return [Room(size, min(room, size), fields) for size in range(1, LONGEST_INPUT + 2)]


cdef inline bint blank(uint8_t byte) noexcept nogil:
    return byte == c" " or byte == c"\t" or byte == c"\v" or byte == c"\f" or byte == c"\r"
