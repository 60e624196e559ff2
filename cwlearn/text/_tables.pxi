"""What is known of characters and stop words: a part of `_hashing.pyx`."""


@cython.final
@cython.auto_pickle(False)
cdef class Tables:
    """What each code point is, and what it becomes.

    Threads read them without a lock while another one fills a page.  So no array ever moves, and a page is read only
    when it is published.
    """

    cdef uint8_t* flags                      # by code point
    cdef int32_t* replacements               # by code point: 0 none, > 0 another one, < 0 a place in `expansions`
    cdef uint8_t* expansions                 # what becomes of a code point if it is not another one, after its length
    cdef Py_ssize_t expanded                 # bytes in `expansions`
    cdef uint8_t* published                  # by page

    def __cinit__(self):
        # Memory that is never touched costs nothing.
        self.flags = <uint8_t*> calloc(CODE_POINTS, 1)
        self.replacements = <int32_t*> calloc(CODE_POINTS, sizeof(int32_t))
        self.expansions = <uint8_t*> calloc(EXPANSION_ROOM, 1)
        self.published = <uint8_t*> calloc(CODE_POINTS // PAGE, 1)
        if self.flags == NULL or self.replacements == NULL or self.expansions == NULL or self.published == NULL:
            raise MemoryError
        self.expanded = EMPTY_EXPANSION + 1  # 0 stands for none; the empty one is a length of 0

    def __dealloc__(self):
        free(self.flags)
        free(self.replacements)
        free(self.expansions)
        free(self.published)

    @cython.critical_section
    def fill(self, Py_ssize_t page, list replacements not None, dict flags not None):
        """Fill a page, unless it is filled.

        A replacement is 0 for none, another code point, or UTF-8.  `flags` are those of all code points that are in the
        page or in a replacement.
        """
        cdef Py_ssize_t first = page * PAGE
        cdef Py_ssize_t k, code, place
        cdef bytes text
        if not 0 <= page < CODE_POINTS // PAGE or len(replacements) != PAGE:
            raise ValueError("there is no such page")
        if self.published[page]:
            return
        for code, flag in flags.items():
            if not 0 <= code < CODE_POINTS:
                raise ValueError("there is no such code point")
            if self.flags[code] != flag:     # another page may have set it, and be in use
                self.flags[code] = flag
        for k in range(PAGE):
            if isinstance(replacements[k], int):
                self.replacements[first + k] = replacements[k]
                continue
            text = replacements[k]
            if not text:                     # other pages have it, too, and may be in use: it is not written again
                self.replacements[first + k] = -EMPTY_EXPANSION
                continue
            place = self.expanded
            if len(text) > 255 or place + len(text) + 1 > EXPANSION_ROOM:
                raise MemoryError("Unicode has grown: the room for what its characters become is too small")
            self.expansions[place] = <uint8_t> len(text)
            memcpy(self.expansions + place + 1, PyBytes_AS_STRING(text), len(text))
            self.replacements[first + k] = <int32_t> -place
            self.expanded += len(text) + 1
        cwlearn_publish(self.published + page)


@cython.final
@cython.auto_pickle(False)
cdef class StopWords:
    """A set of words in UTF-8."""

    cdef Bytes text                          # one after the other
    cdef int64_t* places                     # by hash: where a word begins in `text`, + 1; 0 none
    cdef int64_t* sizes
    cdef uint32_t mask

    def __init__(self, words):
        cdef uint32_t room = 16
        cdef uint32_t place
        cdef bytes word
        while room < 4 * len(words):
            room *= 2
        self.places = <int64_t*> calloc(room, sizeof(int64_t))
        self.sizes = <int64_t*> calloc(room, sizeof(int64_t))
        if self.places == NULL or self.sizes == NULL:
            raise MemoryError
        self.mask = room - 1
        for word in words:
            if not reserve(&self.text, len(word)):
                raise MemoryError
            place = murmur(<Place> PyBytes_AS_STRING(word), len(word)) & self.mask
            while self.places[place]:
                place = (place + 1) & self.mask
            self.places[place] = self.text.size + 1
            self.sizes[place] = len(word)
            memcpy(self.text.data + self.text.size, PyBytes_AS_STRING(word), len(word))
            self.text.size += len(word)

    def __dealloc__(self):
        free(self.text.data)
        free(self.places)
        free(self.sizes)


cdef inline bint is_stop_word(const Plan* s, Place token, Py_ssize_t size) noexcept nogil:
    cdef uint32_t place = murmur(token, size) & s.stop_mask
    while s.stop_places[place]:
        if s.stop_sizes[place] == size and memcmp(s.stop_text + s.stop_places[place] - 1, token, size) == 0:
            return True
        place = (place + 1) & s.stop_mask
    return False


@cython.final
@cython.auto_pickle(False)
cdef class Settings:
    """What makes tokens of a text, columns of tokens, and values of columns."""

    cdef Plan plan
    cdef Tables tables
    cdef StopWords stop_words
    cdef uint8_t[256] ascii_letter           # 1: an ASCII character that belongs to a token
    cdef uint8_t[128] ascii_space
    cdef uint8_t[128] ascii_lower
    cdef double[2 * KNOWN_WEIGHTS + 1] weights

    def __init__(
        self, Tables tables not None, StopWords stop_words, *, int analyzer, int low, int high, int64_t n_features,
        int weighting, bint signs, int norm, bint lowercase, bint by_space,
    ):
        cdef Plan* s = &self.plan
        cdef int c, sum
        if not (
            0 <= analyzer <= 2 and 1 <= low <= high and 1 <= n_features < 2**31 and 0 <= weighting <= 2
            and 0 <= norm <= 2
        ):
            raise ValueError("settings are out of range")
        if not tables.published[0]:
            raise ValueError("the first page of the tables must be filled")
        self.tables, self.stop_words = tables, stop_words
        s.analyzer, s.low, s.high, s.least = analyzer, low, high, 1 if by_space else 2
        s.n_features = <uint32_t> n_features
        s.mask = s.n_features & (s.n_features - 1) == 0
        s.bits = 0
        while s.bits < 31 and <uint32_t> 1 << s.bits < s.n_features:
            s.bits += 1
        s.weighting, s.signs, s.norm = weighting, signs, norm
        for sum in range(-KNOWN_WEIGHTS, KNOWN_WEIGHTS + 1):
            self.weights[KNOWN_WEIGHTS + sum] = weight_of(s, sum)
        s.weights = self.weights + KNOWN_WEIGHTS
        s.lowercase, s.by_space = lowercase, by_space
        memset(self.ascii_letter, 0, 256)
        for c in range(128):
            self.ascii_space[c] = (tables.flags[c] & IS_SPACE) != 0
            self.ascii_letter[c] = not self.ascii_space[c] if by_space else (tables.flags[c] & IS_WORD) != 0
            self.ascii_lower[c] = c + 32 if lowercase and 65 <= c <= 90 else c
        s.letter, s.space, s.lower = self.ascii_letter, self.ascii_space, self.ascii_lower
        s.flags, s.replacements = tables.flags, tables.replacements
        s.published, s.expansions = tables.published, tables.expansions
        s.has_stop_words = stop_words is not None
        if stop_words is not None:
            s.stop_text, s.stop_places = stop_words.text.data, stop_words.places
            s.stop_sizes, s.stop_mask = stop_words.sizes, stop_words.mask
