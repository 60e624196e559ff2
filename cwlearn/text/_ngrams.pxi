"""Tokens or characters to keys of n-grams: a part of `_hashing.pyx`."""


cdef inline Py_ssize_t highest(const Plan* s, Py_ssize_t length) noexcept nogil:
    """The largest n of n-grams of so many tokens or characters."""
    return s.high if s.high < length else length


cdef inline Py_ssize_t count_ngrams(const Plan* s, Py_ssize_t length) noexcept nogil:
    """The number of n-grams of so many tokens or characters."""
    cdef Py_ssize_t high = highest(s, length)
    return (high - s.low + 1) * (2 * length - s.low - high + 2) // 2 if s.low <= high else 0


cdef void hash_word(const Plan* s, Work* w, Py_ssize_t first) noexcept nogil:
    """The n-grams that begin at a token, which share the state of the hash, without the last mixing."""
    cdef const uint32_t* bounds = w.bounds.data + first
    cdef Place data = w.text.data + bounds[0]
    cdef uint32_t* key = w.keys.data + first
    cdef uint32_t state = 0
    cdef uint32_t done = 0
    cdef uint32_t size
    cdef Py_ssize_t n
    for n in range(s.low, highest(s, w.bounds.size - first) + 1):
        size = bounds[n] - 1 - bounds[0]
        while done + 4 <= size:
            state = advanced(state, four_bytes(data + done))
            done += 4
        key[0] = with_rest(state, four_bytes(data + done), size)
        key += w.bounds.size - n + 1


cdef bint add_word_ngrams(const Plan* s, Work* w) noexcept nogil:
    """Hash eight tokens at once where that is possible, else one by one.

    First come the keys of n-grams of `low` tokens, in the order of their first tokens, then those of one more token.
    """
    cdef Py_ssize_t tokens = w.bounds.size
    cdef Py_ssize_t count = count_ngrams(s, tokens)
    cdef Py_ssize_t i = 0
    cdef Py_ssize_t behind
    # The vectors have the places with a sign, and read a few bytes behind the text.
    cdef bint short_text = w.text.size < <Py_ssize_t> 1 << 31
    if not count:
        return True
    if not reserve(&w.keys, count) or not reserve(&w.text, 128):
        return False
    while i < tokens:
        if short_text:
            i += cwlearn_words(
                w.keys.data + i, tokens - s.low + 1, w.text.data, w.bounds.data + i, tokens - i, s.low, s.high)
        behind = i + 8 if i + 8 < tokens else tokens
        while i < behind:
            hash_word(s, w, i)
            i += 1
    finish_keys(s, w.keys.data, count)
    w.keys.size = count
    return True


cdef void finish_keys(const Plan* s, uint32_t* keys, Py_ssize_t n) noexcept nogil:
    """Make keys of hashes that lack the last mixing."""
    cdef Py_ssize_t i
    if s.mask:
        cwlearn_keys(keys, s.n_features - 1, s.signs, n)
    else:
        for i in range(n):
            keys[i] = key_of(s, finished(keys[i]))


cdef bint add_spans(const Plan* s, Work* w, Py_ssize_t first, Py_ssize_t length, Py_ssize_t low) noexcept nogil:
    """The n-grams of so many characters."""
    cdef const uint32_t* bounds = w.bounds.data + first
    cdef Py_ssize_t n, i
    cdef uint32_t* keys
    for n in range(low, highest(s, length) + 1):
        if not reserve(&w.keys, length - n + 1):
            return False
        keys = w.keys.data + w.keys.size
        for i in range(length - n + 1):
            keys[i] = key_of(s, murmur(w.text.data + bounds[i], bounds[i + n] - bounds[i]))
        w.keys.size += length - n + 1
    return True


cdef bint add_bounded_ngrams(const Plan* s, Work* w) noexcept nogil:
    """N-grams of characters within each word and the space on each side of it; one longer than that counts once."""
    cdef Py_ssize_t k, first, length
    for k in range(w.pads.size - 1):
        first = w.pads.data[k]
        length = w.pads.data[k + 1] + 1 - first
        if not add_spans(s, w, first, length, s.low if s.low < length else length):
            return False
    return True


cdef bint add_ascii_ngrams(const Plan* s, Work* w) noexcept nogil:
    """N-grams of characters of one byte: for each n, those at all places at once."""
    cdef Py_ssize_t length = w.text.size
    cdef Py_ssize_t n, count
    cdef Py_ssize_t done = 0                 # bytes that are in the states
    if not reserve(&w.quads, length + 8) or not reserve(&w.states, length + 8) or not reserve(&w.spare, length + 16):
        return False
    cwlearn_quads(w.quads.data, w.text.data, length)
    memset(w.states.data, 0, length * sizeof(uint32_t))
    for n in range(s.low, highest(s, length) + 1):
        count = length - n + 1
        while done + 4 <= n:
            cwlearn_advance(w.states.data, w.quads.data + done, length - done - 3)
            done += 4
        cwlearn_tails(
            w.spare.data, w.states.data, w.quads.data + done, (<uint32_t> 1 << 8 * (n & 3)) - 1, <uint32_t> n, count)
        finish_keys(s, w.spare.data, count)
        if not reserve(&w.keys, count + 8):
            return False
        if s.analyzer == CHARACTERS:
            memcpy(w.keys.data + w.keys.size, w.spare.data, count * sizeof(uint32_t))
            w.keys.size += count
        else:
            keep_bounded(w, n)
    return s.analyzer == CHARACTERS or add_short_words(s, w)


cdef void keep_bounded(Work* w, Py_ssize_t n) noexcept nogil:
    """Of the n-grams at all places, keep those within a word and the spaces around it."""
    cdef Py_ssize_t k, first, count, i
    cdef uint32_t* keys = w.keys.data + w.keys.size
    for k in range(w.bounds.size):
        first = w.bounds.data[k] - 1
        count = (w.bounds.data[k + 1] if k + 1 < w.bounds.size else w.text.size) - first - n + 1
        if count > 0:
            memcpy(keys, w.spare.data + first, 32)        # more than there are, perhaps
            for i in range(8, count, 8):
                memcpy(keys + i, w.spare.data + first + i, 32)
            keys += count
    w.keys.size = keys - w.keys.data


cdef bint add_short_words(const Plan* s, Work* w) noexcept nogil:
    """Words that are shorter than all n-grams, with the spaces around them, count once."""
    cdef Py_ssize_t k, first, length
    for k in range(w.bounds.size):
        first = w.bounds.data[k] - 1
        length = (w.bounds.data[k + 1] if k + 1 < w.bounds.size else w.text.size) - first
        if length < s.low:
            if not reserve(&w.keys, 1):
                return False
            w.keys.data[w.keys.size] = key_of(s, murmur(w.text.data + first, length))
            w.keys.size += 1
    return True
