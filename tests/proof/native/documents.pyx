"""Door: tokens, n-grams and hashes, against tables made from the interpreter and a hash that goes byte by byte.

The slow twin knows words and characters; n-grams within words are compared between wide vectors and narrow ones.
"""

include "../../../cwlearn/text/_hashing.pyx"
include "drive.pxi"
include "murmur_twin.pxi"

import re

from cwlearn.text import _hashing as _real
from cwlearn.text.characters import Characters

cdef enum:
    KNOWN = 0x3000            # code points that the tables have; for others a page is missing
    MOST_CODES = 4096

cdef uint8_t[KNOWN] IS_LETTER, IS_BLANK
cdef int32_t[KNOWN][2][4] FOLDED              # by lowercase: what a code point becomes, up to four, ended by 0

STOP_WORDS = [b"the", b"and", "\u00fcber".encode()]


def tables(lowercase):
    """The tables of the package, filled by it."""
    made = Tables()
    characters = Characters(lowercase, None)
    characters.tables = made
    for page in range(KNOWN // PAGE):
        characters.fill(page)
    return made


def fill_twin():
    """What `re` and `str.lower` say of each code point."""
    for code in range(KNOWN):
        letter = chr(code)
        IS_LETTER[code] = re.fullmatch(r"\w", letter) is not None
        IS_BLANK[code] = re.fullmatch(r"\s", letter) is not None
        for lowercase in range(2):
            folded = letter.lower() if lowercase else letter
            for place in range(4):
                FOLDED[code][lowercase][place] = ord(folded[place]) if place < len(folded) else 0


fill_twin()
TABLES = [tables(False), tables(True)]
WIDTHS = [1 << 20, 1000, 64, 2**31 - 1]
N_OPTIONS = 3 * 2 * 2 * 2 * 2 * 4
cdef list SETTINGS = [None] * N_OPTIONS


def settings_of(option):
    """(analyzer, lowercase, by_space, signs, stop words, width) and the settings."""
    analyzer, lowercase, by_space = option % 3, option // 3 % 2, option // 6 % 2
    signs, stop, width = option // 12 % 2, option // 24 % 2, WIDTHS[option // 48 % 4]
    made = Settings(
        TABLES[lowercase], StopWords(STOP_WORDS) if stop else None, analyzer=analyzer, low=1 + (analyzer > 0),
        high=2 + (analyzer > 0), n_features=width, weighting=BY_COUNT, signs=signs, norm=NO_NORM, lowercase=lowercase,
        by_space=by_space,
    )
    return analyzer, lowercase, by_space, signs, stop, width, made


cdef class Room:
    cdef int64_t* indptr
    cdef int32_t* indices
    cdef double* values
    cdef tuple arrays, call

    def __init__(self):
        indptr, indices = np.zeros(2, np.int64), np.zeros(MOST_CODES, np.int32)
        values, squares = np.zeros(MOST_CODES), np.zeros(1)
        self.arrays = indptr, indices, values, squares
        self.indptr, self.indices, self.values = <int64_t*> address(indptr), <int32_t*> address(indices), <double*> address(values)
        self.call = 0, 1, view64(indptr), view32(indices), view_double(values), view_double(squares), 0, False


ROOMS = [Room(), Room()]
HASH = hash_documents.__signatures__["double"]
cdef Documents DOCUMENT = Documents(1)

cdef struct Twin:
    int64_t n                 # code points
    int64_t[MOST_CODES] codes
    int64_t keys
    int64_t[2 * MOST_CODES] columns
    double[2 * MOST_CODES] signs


cdef int decode_slowly(const uint8_t* p, int64_t size, bint lowercase, Twin* twin, int64_t* detail) noexcept nogil:
    """Decode strictly (Unicode, table 3-7) and fold; a status as the package has it."""
    cdef int64_t at = 0
    cdef int64_t code, least
    cdef int more, k
    twin.n = 0
    while at < size:
        code = p[at]
        if code < 0x80:
            more, least = 0, 0
        elif 0xC2 <= code < 0xE0:
            more, least, code = 1, 0x80, code & 31
        elif 0xE0 <= code < 0xF0:
            more, least, code = 2, 0x800, code & 15
        elif 0xF0 <= code < 0xF5:
            more, least, code = 3, 0x10000, code & 7
        else:
            more, least = 9, 0
        detail[0] = at
        if at + more >= size:
            return BAD_BYTES
        for k in range(1, more + 1):
            if p[at + k] >> 6 != 2:
                return BAD_BYTES
            code = code << 6 | p[at + k] & 63
        if code < least or code >= 0x110000 or 0xD800 <= code < 0xE000:
            return BAD_BYTES
        if code >= KNOWN:
            detail[0] = code >> 8
            return NO_PAGE
        if code == SIGMA and lowercase:
            return CAPITAL_SIGMA
        for k in range(4):
            if FOLDED[code][lowercase][k] or (k == 0 and code == 0):
                twin.codes[twin.n] = FOLDED[code][lowercase][k]
                twin.n += 1
        at += more + 1
    return FINE


cdef int64_t encode_slowly(int64_t code, uint8_t* out) noexcept nogil:
    if code < 0x80:
        out[0] = <uint8_t> code
        return 1
    if code < 0x800:
        out[0], out[1] = <uint8_t> (0xC0 | code >> 6), <uint8_t> (0x80 | code & 63)
        return 2
    out[0], out[1] = <uint8_t> (0xE0 | code >> 12), <uint8_t> (0x80 | code >> 6 & 63)
    out[2] = <uint8_t> (0x80 | code & 63)
    return 3


cdef void add_key(Twin* twin, const uint8_t* text, int64_t size, bint signs, int64_t width) noexcept nogil:
    cdef int64_t hash = <int32_t> slow_murmur(text, size)
    twin.columns[twin.keys] = (-hash if hash < 0 else hash) % width
    twin.signs[twin.keys] = -1 if hash < 0 and signs else 1
    twin.keys += 1


cdef void add_words(Twin* twin, bint by_space, bint stop, bint signs, int64_t width) noexcept nogil:
    """Words of two characters and more, or of all that is no white space, and pairs of them."""
    cdef uint8_t[2 * MOST_CODES] text
    cdef int64_t before = -1                # where the word before begins in `text`
    cdef int64_t size = 0
    cdef int64_t at = 0
    cdef int64_t start, first, code
    while at < twin.n:
        first = at
        start = size
        while at < twin.n:
            code = twin.codes[at]
            if (by_space and IS_BLANK[code]) or not (by_space or IS_LETTER[code]):
                break
            size += encode_slowly(code, text + size)
            at += 1
        if at - first < (1 if by_space else 2) or (stop and is_stop(text + start, size - start)):
            size = start
        else:
            add_key(twin, text + start, size - start, signs, width)
            if before >= 0:
                add_key(twin, text + before, size - before, signs, width)
            before = start
            text[size] = c" "
            size += 1
        at += at == first or at < twin.n


cdef bint is_stop(const uint8_t* word, int64_t size) noexcept nogil:
    return ((size == 3 and (memcmp(word, b"the", 3) == 0 or memcmp(word, b"and", 3) == 0))
            or (size == 5 and memcmp(word, b"\xc3\xbcber", 5) == 0))


cdef void add_characters(Twin* twin, bint signs, int64_t width) noexcept nogil:
    """Two and three characters in a row; white space of two and more is one space."""
    cdef uint8_t[16] text
    cdef int64_t at = 0
    cdef int64_t n = 0
    cdef int64_t run, k, size
    while at < twin.n:
        run = 0
        while at + run < twin.n and IS_BLANK[twin.codes[at + run]]:
            run += 1
        twin.codes[n] = c" " if run > 1 else twin.codes[at]
        n += 1
        at += max(run, 1)
    for at in range(n):
        size = 0
        for k in range(3):
            if at + k < n:
                size += encode_slowly(twin.codes[at + k], text + size)
                if k:
                    add_key(twin, text, size, signs, width)


cdef void compare(Room room, Twin* twin) noexcept nogil:
    cdef int64_t k, j, times
    cdef int64_t found = 0
    cdef double sum
    for k in range(room.indptr[1]):
        if k and room.indices[k] <= room.indices[k - 1]:
            differ(b"columns do not rise")
        sum = 0
        times = 0
        for j in range(twin.keys):
            if twin.columns[j] == room.indices[k]:
                sum += twin.signs[j]
                times += 1
        if times == 0 or sum != room.values[k]:
            differ(b"value")
        found += times
    if found != twin.keys:
        differ(b"an n-gram is lost")


cdef void run(const uint8_t* data, int64_t size) except *:
    global cwlearn_wide
    cdef int64_t option = (data[0] | data[1] << 8) % N_OPTIONS if size > 1 else 0
    cdef tuple chosen
    cdef Twin twin
    cdef Room wide = <Room> ROOMS[0]
    cdef Room narrow = <Room> ROOMS[1]
    cdef int64_t expected_detail = 0
    cdef int64_t length = size - 2 if size > 2 else 0
    cdef int expected
    if SETTINGS[option] is None:
        SETTINGS[option] = settings_of(option)
    chosen = <tuple> SETTINGS[option]
    DOCUMENT.start[0], DOCUMENT.length[0] = data + (2 if size > 2 else 0), length
    cwlearn_wide = widest() if length & 1 else cwlearn_has_avx2()
    status, _, detail = HASH(DOCUMENT, chosen[6], *wide.call)
    cwlearn_wide = 0
    if HASH(DOCUMENT, chosen[6], *narrow.call)[0] != status:
        differ(b"wide and narrow vectors")
    expected = decode_slowly(DOCUMENT.start[0], length, chosen[1], &twin, &expected_detail)
    if status != expected:
        differ(b"what is accepted")
    if status:
        if status != CAPITAL_SIGMA and detail != expected_detail:
            differ(b"where it ends")
        return
    if narrow.indptr[1] != wide.indptr[1] or memcmp(narrow.indices, wide.indices, 4 * wide.indptr[1]) or memcmp(
            narrow.values, wide.values, 8 * wide.indptr[1]):
        differ(b"wide and narrow vectors")
    twin.keys = 0
    if chosen[0] == WORDS:
        add_words(&twin, chosen[2], chosen[4], chosen[3], chosen[5])
    elif chosen[0] == CHARACTERS:
        add_characters(&twin, chosen[3], chosen[5])
    else:
        return
    compare(wide, &twin)
