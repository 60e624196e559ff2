"""Documents to tokens, characters and n-grams: a part of `_hashing.pyx`."""

cdef struct Work:             # where a document is worked on
    Bytes text                # tokens with one space between them, or characters
    Numbers bounds            # where each token, or character, begins in `text`, and an end
    Numbers pads              # characters within word boundaries: which of them are the spaces around words
    Numbers keys              # of n-grams: 2 * column + (1 if its sign is negative)
    Numbers spare
    Doubles weights           # in float64, before they are rounded
    Py_ssize_t start          # of the token that is open, in `text`
    Py_ssize_t characters     # of the token that is open
    Py_ssize_t run            # white-space characters in a row


cdef void free_work(Work* w) noexcept nogil:
    free(w.text.data)
    free(w.bounds.data)
    free(w.pads.data)
    free(w.keys.data)
    free(w.spare.data)
    free(w.weights.data)


cdef inline uint32_t key_of(const Plan* s, uint32_t hash) noexcept nogil:
    """The column is |hash| modulo the number of columns, the sign that of the hash, as scikit-learn has them."""
    cdef bint negative = hash >> 31
    cdef uint32_t size = 0 - hash if negative else hash
    cdef uint32_t column = size & (s.n_features - 1) if s.mask else size % s.n_features
    return column << 1 | (negative and s.signs)


cdef inline bint close_token(const Plan* s, Work* w) noexcept nogil:
    """End the token that is open: keep it, with its key, unless it is too short or a stop word."""
    cdef Py_ssize_t size = w.text.size - w.start
    cdef uint32_t hash
    if w.characters < s.least:
        w.text.size = w.start
        w.characters = 0
        return True
    w.characters = 0
    if not (reserve(&w.bounds, 2) and reserve(&w.keys, 1)):
        return False
    if s.low == 1 or s.has_stop_words:
        hash = murmur(w.text.data + w.start, size)
        if s.has_stop_words and is_stop_word(s, hash, w.text.data + w.start, size):
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


cdef inline bint put_in_word(const Plan* s, Work* w, Place p, int length, bint letter) noexcept nogil:
    """Go on with a character of a text that is cut into tokens; there is room for it."""
    if letter:
        memcpy(w.text.data + w.text.size, p, length)
        w.text.size += length
        w.characters += 1
        return True
    return not w.characters or close_token(s, w)


cdef inline bint put_character(const Plan* s, Work* w, Place p, int length, bint space) noexcept nogil:
    """Go on with a character of a text that is cut into characters; there is room for it in `text`."""
    if not reserve(&w.bounds, 3):
        return False
    if s.analyzer == BOUNDED:
        if space:
            if w.run == 0 and w.bounds.size:
                if not reserve(&w.pads, 2):
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
            if not reserve(&w.pads, 2):
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


cdef inline bint put(const Plan* s, Work* w, Place p, int length, uint32_t code) noexcept nogil:
    """Go on with a character as it is after lower case and accents."""
    cdef uint8_t flags = s.flags[code]
    if s.analyzer == WORDS:
        return put_in_word(s, w, p, length, not flags & IS_SPACE if s.by_space else flags & IS_WORD)
    return put_character(s, w, p, length, (flags & IS_SPACE) != 0)


cdef int take_apart(const Plan* s, Work* w, Place p, Place end, uint32_t* detail, Place* where) noexcept nogil:
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
    if not reserve(&w.text, (end - p) + 512):
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
        if not cwlearn_is_published(s.published + (code >> 8)):
            detail[0] = code >> 8
            return NO_PAGE
        if code == SIGMA and s.lowercase:
            return CAPITAL_SIGMA
        if w.text.size > MOST_TEXT or not reserve(&w.text, (end - p) + 512):
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
        if not reserve(&w.text, 4) or not put_character(s, w, bytes_of, 1, True):
            return NO_MEMORY
    if not reserve(&w.bounds, 1):
        return NO_MEMORY
    # Behind the last token stands a space; of characters the end is the end.
    w.bounds.data[w.bounds.size] = <uint32_t> w.text.size
    return FINE


cdef bint add_word_ngrams(const Plan* s, Work* w) noexcept nogil:
    cdef Py_ssize_t tokens = w.bounds.size
    cdef Py_ssize_t n, i
    cdef uint32_t* bounds = w.bounds.data
    cdef uint32_t* keys
    for n in range(s.low if s.low > 1 else 2, (s.high if s.high < tokens else tokens) + 1):
        if not reserve(&w.keys, tokens - n + 1):
            return False
        keys = w.keys.data + w.keys.size
        for i in range(tokens - n + 1):
            keys[i] = key_of(s, murmur(w.text.data + bounds[i], bounds[i + n] - 1 - bounds[i]))
        w.keys.size += tokens - n + 1
    return True


cdef bint add_character_ngrams(const Plan* s, Work* w) noexcept nogil:
    cdef Py_ssize_t length = w.bounds.size
    cdef Py_ssize_t n, i
    cdef uint32_t* bounds = w.bounds.data
    cdef uint32_t* keys
    for n in range(s.low, (s.high if s.high < length else length) + 1):
        if not reserve(&w.keys, length - n + 1):
            return False
        keys = w.keys.data + w.keys.size
        for i in range(length - n + 1):
            keys[i] = key_of(s, murmur(w.text.data + bounds[i], bounds[i + n] - bounds[i]))
        w.keys.size += length - n + 1
    return True


cdef bint add_bounded_ngrams(const Plan* s, Work* w) noexcept nogil:
    """N-grams of characters within each word and the space on each side of it; one longer than that counts once."""
    cdef Py_ssize_t k, n, i, first, length
    cdef uint32_t* bounds = w.bounds.data
    cdef uint32_t* keys
    for k in range(w.pads.size - 1):
        first = w.pads.data[k]
        length = w.pads.data[k + 1] + 1 - first
        for n in range(s.low, s.high + 1):
            if n >= length:
                if not reserve(&w.keys, 1):
                    return False
                w.keys.data[w.keys.size] = key_of(
                    s, murmur(w.text.data + bounds[first], bounds[first + length] - bounds[first]))
                w.keys.size += 1
                break
            if not reserve(&w.keys, length - n + 1):
                return False
            keys = w.keys.data + w.keys.size
            for i in range(length - n + 1):
                keys[i] = key_of(
                    s, murmur(w.text.data + bounds[first + i], bounds[first + i + n] - bounds[first + i]))
            w.keys.size += length - n + 1
    return True
