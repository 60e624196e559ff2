"""Documents to rows: tokens, n-grams and their hashes, without the GIL.

The result is that of scikit-learn's HashingVectorizer, bit for bit: the same tokens, MurmurHash3 (x86, 32 bits, seed 0)
of their UTF-8, columns, signs, sums, explicit zeros and norms.

ASCII is handled by tables of 128 entries.  For other characters there are tables by code point, filled page by page
from the interpreter that runs (`characters.py`), so that they agree with its `re`, `str.lower` and `unicodedata`.
A page that is not there yet ends the call with NEEDS_PAGE.  Only one lower-case mapping depends on its neighbours, that
of the capital sigma: a document that has one ends the call with HAS_SIGMA, and the caller lowers it.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from cwlearn.text._murmur cimport Place, murmur
from cwlearn.text._utf8 cimport decoded, encoded

ctypedef fused floating:
    float
    double


CODE_POINTS = 0x110000
PAGE = 256                    # code points in a page of the tables
WORD, SPACE = 1, 2            # flags of a code point, as `\w` and `\s` of the interpreter's `re` see it
DONE_ALL, NEEDS_ROOM, NEEDS_PAGE, BAD_UTF8, HAS_SIGMA = range(5)
ANALYZERS = {"word": 0, "char": 1, "char_wb": 2}
NORMS = {None: 0, "l1": 1, "l2": 2}

cdef enum:
    IS_WORD = 1
    IS_SPACE = 2
    SIGMA = 0x3A3
    WORDS = 0
    CHARACTERS = 1
    BOUNDED = 2               # characters within word boundaries
    BY_L1 = 1
    BY_L2 = 2

cdef enum Status:
    FINE, NO_ROOM, NO_PAGE, BAD_BYTES, CAPITAL_SIGMA, NO_MEMORY


# -- growing memory ----------------------------------------------------------------------------------------------------

cdef struct Bytes:
    uint8_t* data
    Py_ssize_t size
    Py_ssize_t room

cdef struct Numbers:
    uint32_t* data
    Py_ssize_t size
    Py_ssize_t room


cdef bint reserve_bytes(Bytes* array, Py_ssize_t more) noexcept nogil:
    """Make room for so many bytes more; False if there is no memory."""
    cdef Py_ssize_t room
    cdef void* data
    if array.size + more <= array.room:
        return True
    room = 2 * (array.size + more) + 64
    data = realloc(array.data, room)
    if data == NULL:
        return False
    array.data = <uint8_t*> data
    array.room = room
    return True


cdef bint reserve_numbers(Numbers* array, Py_ssize_t more) noexcept nogil:
    cdef Py_ssize_t room
    cdef void* data
    if array.size + more <= array.room:
        return True
    room = 2 * (array.size + more) + 64
    data = realloc(array.data, room * sizeof(uint32_t))
    if data == NULL:
        return False
    array.data = <uint32_t*> data
    array.room = room
    return True


# -- documents ---------------------------------------------------------------------------------------------------------

cdef class Documents:
    """Texts in UTF-8, wherever they lie: strings, byte strings, or spans of one array."""

    cdef Place* start
    cdef Py_ssize_t* length
    cdef readonly Py_ssize_t count
    cdef list owners          # keep the memory alive
    cdef object array

    def __cinit__(self, Py_ssize_t count):
        self.count = count
        self.start = <Place*> malloc((count + 1) * sizeof(Place))
        self.length = <Py_ssize_t*> malloc((count + 1) * sizeof(Py_ssize_t))
        if self.start == NULL or self.length == NULL:
            raise MemoryError
        memset(self.length, 0, (count + 1) * sizeof(Py_ssize_t))
        self.owners = [None] * count

    def __dealloc__(self):
        free(self.start)
        free(self.length)

    def __len__(self):
        return self.count

    def set(self, Py_ssize_t number, text):
        """Take a string, or bytes of UTF-8, as a document."""
        cdef Py_ssize_t size = 0
        cdef const char* data
        if not 0 <= number < self.count:
            raise IndexError(number)
        if isinstance(text, str):
            data = PyUnicode_AsUTF8AndSize(text, &size)
        elif isinstance(text, bytes):
            data = PyBytes_AS_STRING(text)
            size = PyBytes_GET_SIZE(text)
        else:
            raise TypeError(f"expected a string or bytes, got {type(text).__name__}")
        self.owners[number] = text
        self.start[number] = <Place> data
        self.length[number] = size

    def get(self, Py_ssize_t number):
        """The bytes of a document."""
        if not 0 <= number < self.count:
            raise IndexError(number)
        return (<const char*> self.start[number])[:self.length[number]]


def documents_of(texts):
    """Strings, or bytes of UTF-8."""
    cdef list given = list(texts)
    cdef Documents documents = Documents(len(given))
    cdef Py_ssize_t number
    for number in range(len(given)):
        documents.set(number, given[number])
    return documents


def documents_in(const uint8_t[::1] text, const int64_t[::1] starts, const int64_t[::1] stops):
    """Spans of an array of UTF-8."""
    cdef Py_ssize_t count = starts.shape[0]
    cdef Documents documents = Documents(count)
    cdef Py_ssize_t number
    if stops.shape[0] != count:
        raise ValueError("starts and stops differ in length")
    documents.array = text
    for number in range(count):
        if not 0 <= starts[number] <= stops[number] <= text.shape[0]:
            raise ValueError("a document lies outside of the text")
        documents.start[number] = &text[0] + starts[number] if text.shape[0] else NULL
        documents.length[number] = stops[number] - starts[number]
    return documents


def murmur_of(bytes data):
    """The hash of some bytes, signed, as scikit-learn has it."""
    return <int32_t> murmur(<Place> PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


# -- settings ----------------------------------------------------------------------------------------------------------

cdef class Settings:
    """What makes tokens of a text and columns of tokens, with the tables of characters."""

    cdef readonly int analyzer
    cdef readonly int low, high              # of the range of n
    cdef readonly int least                  # characters of a token
    cdef readonly uint32_t n_features
    cdef readonly bint binary, signs, lowercase
    cdef readonly int norm
    cdef uint8_t[256] ascii_letter           # 1: an ASCII character that belongs to a token
    cdef uint8_t[128] ascii_space
    cdef uint8_t[128] ascii_lower
    cdef const uint8_t[::1] flags            # by code point
    cdef const int32_t[::1] replacements     # by code point: 0 none, > 0 another one, < 0 a place in `expansions`
    cdef const uint8_t[::1] ready            # by page
    cdef Bytes expansions                    # each with its length before it
    cdef Bytes stop_words                    # one after the other
    cdef int64_t* stop_table                 # by hash: place of a stop word + 1, or 0
    cdef int32_t* stop_sizes
    cdef uint32_t stop_mask
    cdef bint by_space                       # tokens are what is not white space
    cdef int digit_bits

    def __cinit__(self):
        self.expansions = Bytes(NULL, 0, 0)
        self.stop_words = Bytes(NULL, 0, 0)
        self.stop_table = NULL
        self.stop_sizes = NULL
        self.stop_mask = 0

    def __init__(
        self, *, int analyzer, int low, int high, int64_t n_features, bint binary, bint signs, int norm,
        bint lowercase, bint by_space, stop_words, const uint8_t[::1] flags, const int32_t[::1] replacements,
        const uint8_t[::1] ready,
    ):
        cdef int c
        if not (0 <= analyzer <= 2 and 1 <= low <= high and 1 <= n_features < 2**31 and 0 <= norm <= 2):
            raise ValueError("settings are out of range")
        if flags.shape[0] != CODE_POINTS or replacements.shape[0] != CODE_POINTS or ready.shape[0] != CODE_POINTS // PAGE:
            raise ValueError("the tables must have an entry for each code point")
        self.analyzer, self.low, self.high = analyzer, low, high
        self.n_features, self.binary, self.signs, self.norm = <uint32_t> n_features, binary, signs, norm
        self.lowercase, self.by_space = lowercase, by_space
        self.least = 1 if by_space else 2
        self.flags, self.replacements, self.ready = flags, replacements, ready
        memset(self.ascii_letter, 0, 256)
        for c in range(128):
            self.ascii_space[c] = (flags[c] & IS_SPACE) != 0
            self.ascii_letter[c] = not self.ascii_space[c] if by_space else (flags[c] & IS_WORD) != 0
            self.ascii_lower[c] = c + 32 if lowercase and 65 <= c <= 90 else c
        if stop_words is not None:
            self._set_stop_words([word.encode("utf-8") for word in stop_words])

    def _set_stop_words(self, words):
        cdef uint32_t size = 16
        cdef uint32_t place
        cdef bytes word
        cdef Py_ssize_t number = 0
        while size < 4 * len(words):
            size *= 2
        self.stop_table = <int64_t*> malloc(size * sizeof(int64_t))
        self.stop_sizes = <int32_t*> malloc(size * sizeof(int32_t))
        if self.stop_table == NULL or self.stop_sizes == NULL:
            raise MemoryError
        memset(self.stop_table, 0, size * sizeof(int64_t))
        self.stop_mask = size - 1
        for word in words:
            if not reserve_bytes(&self.stop_words, len(word) + 1):
                raise MemoryError
            place = murmur(<Place> PyBytes_AS_STRING(word), len(word)) & self.stop_mask
            while self.stop_table[place]:
                place = (place + 1) & self.stop_mask
            self.stop_table[place] = self.stop_words.size + 1
            self.stop_sizes[place] = <int32_t> len(word)
            memcpy(self.stop_words.data + self.stop_words.size, PyBytes_AS_STRING(word), len(word))
            self.stop_words.size += len(word)
            number += 1

    def expand(self, bytes text):
        """Keep what a character becomes; return its place, for `replacements`."""
        cdef Py_ssize_t place = self.expansions.size
        if len(text) > 255 or not reserve_bytes(&self.expansions, len(text) + 1):
            raise MemoryError
        self.expansions.data[place] = <uint8_t> len(text)
        memcpy(self.expansions.data + place + 1, PyBytes_AS_STRING(text), len(text))
        self.expansions.size += len(text) + 1
        return place

    def __dealloc__(self):
        free(self.expansions.data)
        free(self.stop_words.data)
        free(self.stop_table)
        free(self.stop_sizes)


cdef inline bint is_stop_word(const Bytes* words, const int64_t* table, const int32_t* sizes, uint32_t mask,
                              uint32_t hash, Place token, Py_ssize_t size) noexcept nogil:
    cdef uint32_t place = hash & mask
    while table[place]:
        if sizes[place] == size and memcmp(words.data + table[place] - 1, token, size) == 0:
            return True
        place = (place + 1) & mask
    return False


# -- tokens ------------------------------------------------------------------------------------------------------------

cdef struct Work:             # where a document is worked on
    Bytes text                # tokens with one space between them, or characters
    Numbers bounds            # where each token, or character, begins in `text`, and an end
    Numbers pads              # characters within word boundaries: which of them are the spaces around words
    Numbers keys              # of n-grams: 2 * column + (1 if its sign is negative)
    Numbers spare
    Py_ssize_t start          # of the token that is open, in `text`
    Py_ssize_t characters     # of the token that is open
    Py_ssize_t run            # white-space characters in a row


cdef struct Settings_:        # of Settings, for loops without the GIL
    int analyzer
    int low
    int high
    int least
    uint32_t n_features
    bint mask                 # n_features is a power of two
    bint binary
    bint signs
    bint lowercase
    bint by_space
    int norm
    const uint8_t* letter
    const uint8_t* space
    const uint8_t* lower
    const uint8_t* flags
    const int32_t* replacements
    const uint8_t* ready
    const uint8_t* expansions
    const Bytes* stop_words
    const int64_t* stop_table
    const int32_t* stop_sizes
    uint32_t stop_mask
    int bits                  # of a column


cdef inline uint32_t key_of(const Settings_* s, uint32_t hash) noexcept nogil:
    """The column is |hash| modulo the number of columns, the sign that of the hash, as scikit-learn has them."""
    cdef bint negative = hash >> 31
    cdef uint32_t size = 0 - hash if negative else hash
    cdef uint32_t column = size & (s.n_features - 1) if s.mask else size % s.n_features
    return column << 1 | (negative and s.signs)


cdef inline bint close_token(const Settings_* s, Work* w) noexcept nogil:
    """End the token that is open: keep it, with its key, unless it is too short or a stop word."""
    cdef Py_ssize_t size = w.text.size - w.start
    cdef uint32_t hash
    if w.characters < s.least:
        w.text.size = w.start
        w.characters = 0
        return True
    w.characters = 0
    if not (reserve_numbers(&w.bounds, 2) and reserve_numbers(&w.keys, 1)):
        return False
    if s.low == 1 or s.stop_table != NULL:
        hash = murmur(w.text.data + w.start, size)
        if s.stop_table != NULL and is_stop_word(
            s.stop_words, s.stop_table, s.stop_sizes, s.stop_mask, hash, w.text.data + w.start, size,
        ):
            w.text.size = w.start
            return True
        if s.low == 1:
            w.keys.data[w.keys.size] = key_of(s, hash)
            w.keys.size += 1
    w.bounds.data[w.bounds.size] = <uint32_t> w.start
    w.bounds.size += 1
    w.text.data[w.text.size] = c" "
    w.text.size += 1
    w.start = w.text.size
    return True


cdef inline bint put_in_word(const Settings_* s, Work* w, Place p, int length, bint letter) noexcept nogil:
    """Go on with a character of a text that is cut into tokens; there is room for it."""
    if letter:
        memcpy(w.text.data + w.text.size, p, length)
        w.text.size += length
        w.characters += 1
        return True
    return not w.characters or close_token(s, w)


cdef inline bint put_character(const Settings_* s, Work* w, Place p, int length, bint space) noexcept nogil:
    """Go on with a character of a text that is cut into characters; there is room for it in `text`."""
    if not reserve_numbers(&w.bounds, 3):
        return False
    if s.analyzer == BOUNDED:
        if space:
            if w.run == 0 and w.bounds.size:
                if not reserve_numbers(&w.pads, 2):
                    return False
                w.pads.data[w.pads.size] = <uint32_t> w.bounds.size
                w.pads.size += 1
                w.bounds.data[w.bounds.size] = <uint32_t> w.text.size
                w.bounds.size += 1
                w.text.data[w.text.size] = c" "
                w.text.size += 1
            w.run = 1
            return True
        if not w.bounds.size:                # before the first word
            if not reserve_numbers(&w.pads, 2):
                return False
            w.pads.data[0] = 0
            w.pads.size = 1
            w.bounds.data[0] = 0
            w.bounds.size = 1
            w.text.data[0] = c" "
            w.text.size = 1
        w.run = 0
    elif space:
        w.run += 1
        if w.run > 2:
            return True
        if w.run == 2:                       # the second one in a row: both become a space
            w.text.size = w.bounds.data[w.bounds.size - 1]
            w.text.data[w.text.size] = c" "
            w.text.size += 1
            return True
    else:
        w.run = 0
    w.bounds.data[w.bounds.size] = <uint32_t> w.text.size
    w.bounds.size += 1
    memcpy(w.text.data + w.text.size, p, length)
    w.text.size += length
    return True


cdef inline bint put(const Settings_* s, Work* w, Place p, int length, uint32_t code) noexcept nogil:
    """Go on with a character as it is after lower case and accents."""
    cdef uint8_t flags = s.flags[code]
    if s.analyzer == WORDS:
        return put_in_word(s, w, p, length, not flags & IS_SPACE if s.by_space else flags & IS_WORD)
    return put_character(s, w, p, length, (flags & IS_SPACE) != 0)


cdef int take_apart(const Settings_* s, Work* w, Place p, Place end, uint32_t* detail, Place* where) noexcept nogil:
    """Make tokens, or characters, of a document; `where` is the place of what ended it early."""
    cdef uint32_t code = 0
    cdef int32_t other
    cdef int length
    cdef uint8_t[8] bytes_of
    cdef uint8_t b
    cdef uint8_t* out
    cdef Place q
    cdef Place q_end
    w.text.size = w.bounds.size = w.pads.size = w.keys.size = 0
    w.start = w.characters = w.run = 0
    if not reserve_bytes(&w.text, (end - p) + 512):
        return NO_MEMORY
    while p < end:
        # There is room for all that is left, and some more, if it is ASCII.
        if s.analyzer == WORDS:
            q = p
            out = w.text.data + w.text.size
            while p < end and s.letter[p[0]]:
                out[0] = s.lower[p[0]]
                out += 1
                p += 1
            w.text.size += p - q
            w.characters += p - q
            if p == end:
                break
            if p[0] < 0x80:
                if w.characters and not close_token(s, w):
                    return NO_MEMORY
                p += 1
                continue
        elif p[0] < 0x80:
            bytes_of[0] = s.lower[p[0]]
            if not put_character(s, w, bytes_of, 1, s.space[p[0]]):
                return NO_MEMORY
            p += 1
            continue
        length = decoded(p, end, &code)
        where[0] = p
        if not length:
            return BAD_BYTES
        if not s.ready[code >> 8]:
            detail[0] = code >> 8
            return NO_PAGE
        if code == SIGMA and s.lowercase:
            return CAPITAL_SIGMA
        if not reserve_bytes(&w.text, (end - p) + 512):
            return NO_MEMORY
        other = s.replacements[code]
        if other == 0:
            if not put(s, w, p, length, code):
                return NO_MEMORY
        elif other > 0:
            if not put(s, w, bytes_of, encoded(<uint32_t> other, bytes_of), <uint32_t> other):
                return NO_MEMORY
        else:
            q = s.expansions - other
            q_end = q + 1 + q[0]
            q += 1
            while q < q_end:
                if q[0] < 0x80:
                    code = q[0]
                    if not put(s, w, q, 1, code):
                        return NO_MEMORY
                    q += 1
                else:
                    b = <uint8_t> decoded(q, q_end, &code)
                    if not put(s, w, q, b, code):
                        return NO_MEMORY
                    q += b
        p += length
    if s.analyzer == WORDS and w.characters and not close_token(s, w):
        return NO_MEMORY
    if s.analyzer == BOUNDED and w.bounds.size and w.run == 0:
        bytes_of[0] = c" "
        if not reserve_bytes(&w.text, 4) or not put_character(s, w, bytes_of, 1, True):
            return NO_MEMORY
    if not reserve_numbers(&w.bounds, 1):
        return NO_MEMORY
    # Behind the last token stands a space; of characters the end is the end.
    w.bounds.data[w.bounds.size] = <uint32_t> w.text.size
    return FINE


# -- n-grams -----------------------------------------------------------------------------------------------------------

cdef bint add_word_ngrams(const Settings_* s, Work* w) noexcept nogil:
    cdef Py_ssize_t tokens = w.bounds.size
    cdef Py_ssize_t n, i
    cdef uint32_t* bounds = w.bounds.data
    cdef uint32_t* keys
    for n in range(s.low if s.low > 1 else 2, (s.high if s.high < tokens else tokens) + 1):
        if not reserve_numbers(&w.keys, tokens - n + 1):
            return False
        keys = w.keys.data + w.keys.size
        for i in range(tokens - n + 1):
            keys[i] = key_of(s, murmur(w.text.data + bounds[i], bounds[i + n] - 1 - bounds[i]))
        w.keys.size += tokens - n + 1
    return True


cdef bint add_character_ngrams(const Settings_* s, Work* w) noexcept nogil:
    cdef Py_ssize_t length = w.bounds.size
    cdef Py_ssize_t n, i
    cdef uint32_t* bounds = w.bounds.data
    cdef uint32_t* keys
    for n in range(s.low, (s.high if s.high < length else length) + 1):
        if not reserve_numbers(&w.keys, length - n + 1):
            return False
        keys = w.keys.data + w.keys.size
        for i in range(length - n + 1):
            keys[i] = key_of(s, murmur(w.text.data + bounds[i], bounds[i + n] - bounds[i]))
        w.keys.size += length - n + 1
    return True


cdef bint add_bounded_ngrams(const Settings_* s, Work* w) noexcept nogil:
    """N-grams of characters within each word and the space on each side of it; one longer than that counts once."""
    cdef Py_ssize_t k, n, i, first, length
    cdef uint32_t* bounds = w.bounds.data
    cdef uint32_t* keys
    for k in range(w.pads.size - 1):
        first = w.pads.data[k]
        length = w.pads.data[k + 1] + 1 - first
        for n in range(s.low, s.high + 1):
            if n >= length:
                if not reserve_numbers(&w.keys, 1):
                    return False
                w.keys.data[w.keys.size] = key_of(
                    s, murmur(w.text.data + bounds[first], bounds[first + length] - bounds[first]))
                w.keys.size += 1
                break
            if not reserve_numbers(&w.keys, length - n + 1):
                return False
            keys = w.keys.data + w.keys.size
            for i in range(length - n + 1):
                keys[i] = key_of(
                    s, murmur(w.text.data + bounds[first + i], bounds[first + i + n] - bounds[first + i]))
            w.keys.size += length - n + 1
    return True


# -- columns -----------------------------------------------------------------------------------------------------------

cdef void sort_few(uint32_t* keys, Py_ssize_t n) noexcept nogil:
    """Insertion sort."""
    cdef Py_ssize_t i, j
    cdef uint32_t key
    for i in range(1, n):
        key = keys[i]
        j = i
        while j and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key


cdef bint sort_keys(Work* w, int bits) noexcept nogil:
    """Sort by column: digit by digit, from the lowest one; the sign does not count."""
    cdef uint32_t[2048] places
    cdef uint32_t* source
    cdef uint32_t* target
    cdef uint32_t* other
    cdef Py_ssize_t n = w.keys.size
    cdef Py_ssize_t i
    cdef uint32_t sum, count, mask
    cdef int digit, shift, passes, wide, turn
    if n <= 40:
        sort_few(w.keys.data, n)
        return True
    if not reserve_numbers(&w.spare, n - w.spare.size):
        return False
    digit = 7 if n < 200 else 8 if n < 800 else 11
    passes = (bits + digit - 1) // digit
    wide = (bits + passes - 1) // passes if passes else 1
    source, target = w.keys.data, w.spare.data
    for turn in range(passes):
        shift = 1 + turn * wide
        mask = (<uint32_t> 1 << wide) - 1
        memset(places, 0, (mask + 1) * sizeof(uint32_t))
        for i in range(n):
            places[source[i] >> shift & mask] += 1
        sum = 0
        for i in range(mask + 1):
            count = places[i]
            places[i] = sum
            sum += count
        for i in range(n):
            target[places[source[i] >> shift & mask]] = source[i]
            places[source[i] >> shift & mask] += 1
        other = source
        source = target
        target = other
    if source != w.keys.data:
        memcpy(w.keys.data, source, n * sizeof(uint32_t))
    return True


cdef Py_ssize_t count_columns(Work* w) noexcept nogil:
    """How many columns the sorted keys have."""
    cdef Py_ssize_t i, columns = w.keys.size > 0
    for i in range(1, w.keys.size):
        columns += (w.keys.data[i] ^ w.keys.data[i - 1]) > 1
    return columns


cdef Py_ssize_t add_up(const Settings_* s, Work* w, int32_t* indices, floating* values, bint single) noexcept nogil:
    """Columns and values of the sorted keys; return how many.  Sums of 0 stay."""
    cdef Py_ssize_t i = 0
    cdef Py_ssize_t n = w.keys.size
    cdef Py_ssize_t columns = 0
    cdef uint32_t* keys = w.keys.data
    cdef uint32_t column
    cdef int64_t sum
    cdef double total = 0
    cdef double value
    while i < n:
        column = keys[i] >> 1
        sum = 0
        while i < n and keys[i] >> 1 == column:
            sum += 1 - 2 * <int64_t> (keys[i] & 1)
            i += 1
        indices[columns] = <int32_t> column
        values[columns] = 1 if s.binary else <floating> sum
        columns += 1
    if s.norm == BY_L1:
        for i in range(columns):
            total += fabs(<double> values[i])
    elif s.norm == BY_L2:
        for i in range(columns):
            if single:                       # as scikit-learn has it for float32
                total += <double> (<float> values[i] * <float> values[i])
            else:
                value = values[i]
                total += value * value
        total = sqrt(total)
    if total != 0:
        for i in range(columns):
            values[i] = <floating> (<double> values[i] / total)
    return columns


def hash_documents(
    Documents documents, Settings settings, Py_ssize_t first, Py_ssize_t stop, int64_t[::1] indptr,
    int32_t[::1] indices, floating[::1] values, Py_ssize_t n_rows, bint single,
):
    """Append rows of the documents from `first` to `stop` to the first `n_rows` rows in the arrays.

    `single` makes the sums of squares of float32 values as scikit-learn makes them; otherwise they are those of
    float64, rounded to the type of `values` in the end.

    Returns (status, next document, detail): DONE_ALL; NEEDS_ROOM in the arrays; NEEDS_PAGE `detail` of the tables;
    BAD_UTF8 at byte `detail` of the document; HAS_SIGMA.
    """
    cdef Settings_ s
    cdef Work w
    cdef Py_ssize_t number, columns
    cdef Py_ssize_t room = indices.shape[0] if indices.shape[0] < values.shape[0] else values.shape[0]
    cdef int64_t filled
    cdef int status = FINE
    cdef uint32_t detail = 0
    cdef Place where = NULL
    cdef Place begin
    if not 0 <= first <= stop <= documents.count:
        raise ValueError("there are no such documents")
    if n_rows < 0 or indptr.shape[0] < n_rows + 1:
        raise ValueError("the array of bounds is too short")
    filled = indptr[n_rows]
    if not 0 <= filled <= room:
        raise ValueError("the arrays are too short")
    s.analyzer, s.low, s.high, s.least = settings.analyzer, settings.low, settings.high, settings.least
    s.n_features = settings.n_features
    s.mask = settings.n_features & (settings.n_features - 1) == 0
    s.binary, s.signs, s.lowercase, s.norm = settings.binary, settings.signs, settings.lowercase, settings.norm
    s.by_space = settings.by_space
    s.letter, s.space, s.lower = settings.ascii_letter, settings.ascii_space, settings.ascii_lower
    s.flags, s.replacements, s.ready = &settings.flags[0], &settings.replacements[0], &settings.ready[0]
    s.expansions = settings.expansions.data
    s.stop_words, s.stop_table = &settings.stop_words, settings.stop_table
    s.stop_sizes, s.stop_mask = settings.stop_sizes, settings.stop_mask
    s.bits = 0
    while s.bits < 31 and <uint32_t> 1 << s.bits < s.n_features:
        s.bits += 1
    memset(&w, 0, sizeof(Work))
    number = first
    with nogil:
        while number < stop:
            if indptr.shape[0] < n_rows + 2:
                status = NO_ROOM
                break
            if documents.length[number] >= <Py_ssize_t> 1 << 30:
                status = NO_MEMORY
                break
            begin = documents.start[number]
            status = take_apart(&s, &w, begin, begin + documents.length[number], &detail, &where)
            if status:
                break
            if s.analyzer == WORDS:
                status = FINE if s.high == 1 or add_word_ngrams(&s, &w) else NO_MEMORY
            elif s.analyzer == CHARACTERS:
                status = FINE if add_character_ngrams(&s, &w) else NO_MEMORY
            else:
                status = FINE if add_bounded_ngrams(&s, &w) else NO_MEMORY
            if status or not sort_keys(&w, s.bits):
                status = NO_MEMORY
                break
            if w.keys.size > room - filled:
                columns = count_columns(&w)
                if columns > room - filled:
                    status = NO_ROOM
                    break
            filled += add_up(&s, &w, &indices[0] + filled, &values[0] + filled, single)
            n_rows += 1
            indptr[n_rows] = filled
            number += 1
        if status == BAD_BYTES:
            detail = <uint32_t> (where - documents.start[number])
        free(w.text.data)
        free(w.bounds.data)
        free(w.pads.data)
        free(w.keys.data)
        free(w.spare.data)
    if status == NO_MEMORY:
        raise MemoryError(f"document {number} needs too much memory")
    return status, number, detail
