"""Records of documents in text: JSON lines, CSV, fastText, label<TAB>text, and plain lines, without the GIL.

A splitter finds the records of a text and copies the fields that are wanted, unescaped, into `scratch`.  It stops at
the first record that is not of the format, and does not say what is wrong: `record_errors.py` reads that one record
again, slowly, and explains it.

All splitters take these arrays, and append to the first `n_records` records in them:

places  int64[n]       offset in `text` of the first byte of each record
starts  int64[K, n]    the span in `scratch` of field k of record i
stops   int64[K, n]
kinds   uint8[K, n]    MISSING, STRING, NUMBER, TRUE, FALSE, NULL or OTHER (an array or object); MISSING and OTHER have
                       the span 0:0
scratch uint8          at least `used` + stop - start + SLACK bytes; no field is longer than its text in the record

and return (status, records now, lines read, where they stopped, bytes of scratch used now).  The status is DONE;
BAD_RECORD (where: the start of that record); or NEEDS_ROOM if the arrays have no room for the next record (where: its
start, or that of blank lines before it).
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcmp, memcpy

from cwlearn.text._utf8 cimport encoded

import os

import numpy as np

ctypedef const uint8_t* Place

cdef extern from "_scan.h":
    Place string_mark "cwlearn_string_mark" (Place p) noexcept nogil
    Place copy_to_mark "cwlearn_copy_to_mark" (Place p, uint8_t* out) noexcept nogil
    Place field_end "cwlearn_field_end" (Place p, uint8_t delimiter) noexcept nogil
    Place find_quote "cwlearn_find_quote" (Place p, Place end, int64_t* lines) noexcept nogil
    Place last_line_end "cwlearn_last_line_end" (Place p, Place end) noexcept nogil

cdef enum Status:
    FINE, BAD, FULL
DONE, BAD_RECORD, NEEDS_ROOM = FINE, BAD, FULL               # for Python
cdef enum Kind:
    IS_MISSING, IS_STRING, IS_NUMBER, IS_TRUE, IS_FALSE, IS_NULL, IS_OTHER
MISSING, STRING, NUMBER, TRUE, FALSE, OTHER = IS_MISSING, IS_STRING, IS_NUMBER, IS_TRUE, IS_FALSE, IS_OTHER
globals()["NULL"] = IS_NULL                                  # for Cython this is the word for a pointer to nothing
cdef enum:
    PADDED = 64               # bytes that must stand before and after a text, because blocks are read beyond its ends
    SLACKENED = 64            # bytes that must stand behind the last field in scratch, because blocks are written
    DEPTH = 256               # of nested JSON
    FIELDS = 64               # of JSON that can be wanted: bits of a word
SLACK, MAX_DEPTH, MAX_FIELDS = SLACKENED, DEPTH, FIELDS


@cython.final
@cython.auto_pickle(False)
cdef class _Output:
    """The arrays of a call, checked, as pointers."""

    cdef int64_t* places
    cdef int64_t* starts      # of field 0; field k begins at k * stride
    cdef int64_t* stops
    cdef uint8_t* kinds
    cdef uint8_t* scratch
    cdef Place text
    cdef Place end            # of the text
    cdef int64_t fields
    cdef int64_t starts_stride, stops_stride, kinds_stride
    cdef int64_t room         # for records
    cdef int64_t n            # of records
    cdef int64_t used         # bytes of scratch
    cdef tuple owners         # keep the memory alive

    def __cinit__(
        self, int64_t[::1] places, int64_t[:, ::1] starts, int64_t[:, ::1] stops, uint8_t[:, ::1] kinds,
        uint8_t[::1] scratch, const uint8_t[::1] text, int64_t start, int64_t stop, int64_t n_records, int64_t used,
    ):
        if not PADDED <= start <= stop <= text.shape[0] - PADDED or (start < stop and text[stop - 1] != c"\n"):
            raise ValueError("the text must end with a line, between paddings")
        if not 0 <= n_records <= places.shape[0]:
            raise ValueError("the number of records is out of range")
        if min(starts.shape[1], stops.shape[1], kinds.shape[1]) < places.shape[0]:
            raise ValueError("the arrays of fields have less room than places")
        if not starts.shape[0] == stops.shape[0] == kinds.shape[0]:
            raise ValueError("the arrays of fields differ in their number")
        if used < 0 or scratch.shape[0] - SLACKENED < used or scratch.shape[0] - SLACKENED - used < stop - start:
            raise ValueError("scratch is too short for the text")
        self.owners = places, starts, stops, kinds, scratch, text
        self.room, self.n, self.used = places.shape[0], n_records, used
        self.fields = starts.shape[0] if self.room else 0
        if self.room:
            self.places = &places[0]
        if self.fields:
            self.starts, self.stops, self.kinds = &starts[0, 0], &stops[0, 0], &kinds[0, 0]
        self.starts_stride, self.stops_stride, self.kinds_stride = starts.shape[1], stops.shape[1], kinds.shape[1]
        self.scratch = &scratch[0]
        self.text, self.end = &text[0], &text[0] + stop

    cdef void put(self, int64_t field, Kind kind, int64_t start, int64_t stop) noexcept nogil:
        """Set a field of the record that is read."""
        self.starts[field * self.starts_stride + self.n] = start
        self.stops[field * self.stops_stride + self.n] = stop
        self.kinds[field * self.kinds_stride + self.n] = kind

    cdef void copy(self, int64_t field, Place start, Place stop) noexcept nogil:
        """Set a field to a string, as it is written."""
        memcpy(self.scratch + self.used, start, stop - start)
        self.put(field, IS_STRING, self.used, self.used + (stop - start))
        self.used += stop - start

    cdef tuple result(self, int status, int64_t lines, Place where):
        return status, self.n, lines, where - self.text, self.used


cdef inline bint is_blank(uint8_t byte) noexcept nogil:
    return byte == c" " or byte == c"\t" or byte == c"\v" or byte == c"\f" or byte == c"\r"


cdef inline Place end_of_line(Place p, Place end) noexcept nogil:
    """The place of the LF; there is one, as the text ends with a line."""
    return <Place> memchr(p, c"\n", end - p)


cdef inline Place without_cr(Place line, Place line_end) noexcept nogil:
    """The end of a line's text: the CR of a CR LF does not belong to it."""
    return line_end - (line_end > line and (line_end - 1)[0] == c"\r")


cdef inline Place behind_blanks(Place p) noexcept nogil:
    """The place of the first byte that is not blank, which may be the LF."""
    while is_blank(p[0]):
        p += 1
    return p


include "_json_records.pxi"
include "_csv_records.pxi"
include "_spans.pxi"


# -- lines -------------------------------------------------------------------------------------------------------------

def split_fasttext(
    int64_t[::1] places, int64_t[:, ::1] starts, int64_t[:, ::1] stops, uint8_t[:, ::1] kinds, int32_t[::1] counts,
    uint8_t[::1] scratch, const uint8_t[::1] text, int64_t start, int64_t stop, int64_t n_records, int64_t used,
    bytes prefix, bint all_labels=False,
):
    """Lines of words, of which those that begin with `prefix` are labels.

    Field 0 is the first label without the prefix, or all of them with a blank between two.  Field 1 is the text: the
    line without its labels, each cut out with the one white-space byte behind it, or before it at the end of the line.
    `counts` has the number of labels by record.  Blank lines are no records.
    """
    cdef _Output out = _Output(places, starts, stops, kinds, scratch, text, start, stop, n_records, used)
    cdef Place p = out.text + start
    cdef Place line_end, text_end, kept, label, label_end
    cdef Place name = <Place> PyBytes_AS_STRING(prefix)
    cdef int64_t size = PyBytes_GET_SIZE(prefix)
    cdef int64_t lines = 0
    cdef int64_t text_start, first_start, first_stop
    cdef int32_t labels
    cdef int status = FINE
    _need_two_fields(out)
    if counts.shape[0] < out.room:
        raise ValueError("the array of counts has less room than places")
    if not size or any(byte in b" \t\v\f\r\n" for byte in prefix):
        raise ValueError("the prefix of labels must not be empty or have white space")
    with nogil:
        while p < out.end:
            line_end = end_of_line(p, out.end)
            if behind_blanks(p) == line_end:
                p = line_end + 1
                lines += 1
                continue
            if out.n == out.room:
                status = FULL
                break
            text_end = without_cr(p, line_end)
            out.places[out.n] = p - out.text
            labels = 0
            first_start = first_stop = 0
            text_start = out.used
            kept = p                        # from here on nothing is copied yet
            label = find_label(p, p, text_end, name, size)
            while label != NULL:
                label_end = label + size
                while label_end < text_end and not is_blank(label_end[0]):
                    label_end += 1
                if not labels:
                    first_start, first_stop = label + size - out.text, label_end - out.text
                labels += 1
                memcpy(out.scratch + out.used, kept, label - kept)
                out.used += label - kept
                if label_end < text_end:
                    kept = label_end + 1
                else:
                    kept = label_end
                    if out.used > text_start:
                        out.used -= 1
                label = find_label(p, label_end, text_end, name, size)
            memcpy(out.scratch + out.used, kept, text_end - kept)
            out.used += text_end - kept
            out.put(1, IS_STRING, text_start, out.used)
            if labels and all_labels:
                copy_labels(out, p, text_end, name, size)
            elif labels:
                out.copy(0, out.text + first_start, out.text + first_stop)
            else:
                out.put(0, IS_MISSING, 0, 0)
            counts[out.n] = labels
            out.n += 1
            lines += 1
            p = line_end + 1
    return out.result(status, lines, p)


cdef Place find_label(Place line, Place p, Place end, Place prefix, int64_t size) noexcept nogil:
    """The next word from p on that begins with the prefix, or NULL; p is not within a label."""
    while end - p >= size:
        p = <Place> memchr(p, prefix[0], end - p)
        if p == NULL or end - p < size:
            return NULL
        if (p == line or is_blank((p - 1)[0])) and memcmp(p, prefix, size) == 0:
            return p
        p += 1
    return NULL


cdef void copy_labels(_Output out, Place line, Place end, Place prefix, int64_t size) noexcept nogil:
    """Set field 0 to the labels of a line, without the prefix, with a blank between two.

    One that is nothing but the prefix is a flaw, which is found by the blank beside it: no label at all is none.
    """
    cdef int64_t start = out.used
    cdef Place first = find_label(line, line, end, prefix, size)
    cdef Place label = first
    cdef Place label_end
    while label != NULL:
        label_end = label + size
        while label_end < end and not is_blank(label_end[0]):
            label_end += 1
        if label != first or label_end == label + size:
            out.scratch[out.used] = c" "
            out.used += 1
        memcpy(out.scratch + out.used, label + size, label_end - label - size)
        out.used += label_end - label - size
        label = find_label(line, label_end, end, prefix, size)
    out.put(0, IS_STRING, start, out.used)


def split_tabbed(
    int64_t[::1] places, int64_t[:, ::1] starts, int64_t[:, ::1] stops, uint8_t[:, ::1] kinds, uint8_t[::1] scratch,
    const uint8_t[::1] text, int64_t start, int64_t stop, int64_t n_records, int64_t used,
):
    """Lines of a label (field 0), a tab, and text (field 1).  Blank lines are no records."""
    cdef _Output out = _Output(places, starts, stops, kinds, scratch, text, start, stop, n_records, used)
    cdef Place p = out.text + start
    cdef Place line_end, tab
    cdef int64_t lines = 0
    cdef int status = FINE
    _need_two_fields(out)
    with nogil:
        while p < out.end:
            line_end = end_of_line(p, out.end)
            if behind_blanks(p) != line_end:
                if out.n == out.room:
                    status = FULL
                    break
                tab = <Place> memchr(p, c"\t", line_end - p)
                if tab == NULL:
                    status = BAD
                    break
                out.places[out.n] = p - out.text
                out.copy(0, p, tab)
                out.copy(1, tab + 1, without_cr(tab + 1, line_end))
                out.n += 1
            lines += 1
            p = line_end + 1
    return out.result(status, lines, p)


def split_plain(
    int64_t[::1] places, int64_t[:, ::1] starts, int64_t[:, ::1] stops, uint8_t[:, ::1] kinds, uint8_t[::1] scratch,
    const uint8_t[::1] text, int64_t start, int64_t stop, int64_t n_records, int64_t used,
):
    """Lines of text (field 1), even those without any; field 0 is missing."""
    cdef _Output out = _Output(places, starts, stops, kinds, scratch, text, start, stop, n_records, used)
    cdef Place p = out.text + start
    cdef Place line_end
    cdef int64_t lines = 0
    cdef int status = FINE
    _need_two_fields(out)
    with nogil:
        while p < out.end:
            if out.n == out.room:
                status = FULL
                break
            line_end = end_of_line(p, out.end)
            out.places[out.n] = p - out.text
            out.put(0, IS_MISSING, 0, 0)
            out.copy(1, p, without_cr(p, line_end))
            out.n += 1
            lines += 1
            p = line_end + 1
    return out.result(status, lines, p)


cdef _need_two_fields(_Output out):
    if out.room and out.fields != 2:
        raise ValueError("the arrays must have two fields, label and text")
