"""Documents to tokens or characters: a part of `_hashing.pyx`."""

cdef struct Work:             # where a document is worked on
    Bytes text                # tokens with one space between them, or characters
    Numbers bounds            # where each token, or character, begins in `text`, and an end; see also `ascii`
    Numbers pads              # characters within word boundaries: which of them are the spaces around words
    Numbers keys              # of n-grams: 2 * column + (1 if its sign is negative)
    Numbers spare
    Numbers columns           # distinct ones, in rising order
    Numbers sums              # of their keys, with a sign
    Numbers quads             # of characters: the four bytes from each on
    Numbers states            # of their hashes
    Doubles weights           # in float64, before they are rounded
    Py_ssize_t start          # of the token that is open, in `text`
    Py_ssize_t characters     # of the token that is open
    Py_ssize_t run            # white-space characters in a row
    bint ascii                # the text is cut into characters of one byte, of which there are no bounds


cdef void free_work(Work* w) noexcept nogil:
    free(w.text.data)
    free(w.bounds.data)
    free(w.pads.data)
    free(w.keys.data)
    free(w.spare.data)
    free(w.columns.data)
    free(w.sums.data)
    free(w.quads.data)
    free(w.states.data)
    free(w.weights.data)


cdef inline uint32_t key_of(const Plan* s, uint32_t hash) noexcept nogil:
    """The column is |hash| modulo the number of columns, the sign that of the hash, as scikit-learn has them."""
    cdef bint negative = hash >> 31
    cdef uint32_t size = 0 - hash if negative else hash
    cdef uint32_t column = size & (s.n_features - 1) if s.mask else size % s.n_features
    return column << 1 | (negative and s.signs)


cdef inline void close_token(const Plan* s, Work* w, int least) noexcept nogil:
    """End the token that is open: keep it, unless it is too short or a stop word; there is room for it."""
    cdef Place token = w.text.data + w.start
    if w.characters >= least and not (s.has_stop_words and is_stop_word(s, token, w.text.size - w.start)):
        w.bounds.data[w.bounds.size] = <uint32_t> w.start
        w.bounds.size += 1
        w.text.data[w.text.size] = c" "
        w.start = w.text.size + 1
    w.text.size = w.start
    w.characters = 0


cdef inline void copy_token(uint8_t* out, Place token, Py_ssize_t size) noexcept nogil:
    """Copy more than there is, perhaps, which is faster than the right number of bytes."""
    memcpy(out, token, 16)
    if size > 16:
        memcpy(out + 16, token + 16, size - 16)


cdef inline void go_on(Work* w, Place token, Py_ssize_t size) noexcept nogil:
    """Go on with the token that is open; there is room for it."""
    copy_token(w.text.data + w.text.size, token, size)
    w.text.size += size
    w.characters += size


cdef void add_tokens(
    const Plan* s, Work* w, Place text, const uint32_t* edges, Py_ssize_t n, int least,
) noexcept nogil:
    """Add the tokens between pairs of edges, as `close_token` does; none is open, and there is room for them."""
    cdef uint8_t* begin = w.text.data
    cdef uint8_t* out
    cdef uint32_t* bounds = w.bounds.data + w.bounds.size
    cdef bint has_stop_words = s.has_stop_words
    cdef Py_ssize_t at = w.start
    cdef Py_ssize_t k, size, kept
    for k in range(0, n, 2):
        size = <Py_ssize_t> edges[k + 1] - <Py_ssize_t> edges[k]
        out = begin + at
        copy_token(out, text + edges[k], size)
        kept = (least - 1 - size) >> 63      # -1 or 0, without a branch: no processor would foresee short tokens
        if has_stop_words and is_stop_word(s, out, size):
            kept = 0
        out[size] = c" "
        bounds[0] = <uint32_t> at
        bounds -= kept
        at += (size + 1) & kept
    w.bounds.size = bounds - w.bounds.data
    w.start = w.text.size = at


cdef Place take_ascii_at_once(const Plan* s, Work* w, Place p, Place end) noexcept nogil:
    """As `take_ascii`, with the tokens of the settings, none of which is a stop word (AVX-512)."""
    cdef bint is_open = w.characters > 0 and p[0] < 0x80 and s.letter[p[0]]
    if w.characters and p[0] < 0x80 and not is_open:
        close_token(s, w, s.least)
    if w.characters:
        w.bounds.data[w.bounds.size] = <uint32_t> w.start
        w.bounds.size += 1
    cdef Py_ssize_t taken = cwlearn_tokens(
        w.text.data, &w.text.size, w.bounds.data, &w.bounds.size, p, end - p, s.letter, s.lower, s.least, is_open)
    if w.characters and not taken:           # what is open goes on with a character that is not ASCII
        w.bounds.size -= 1
    elif taken and s.letter[p[taken - 1]]:
        w.bounds.size -= 1
        w.start = w.bounds.data[w.bounds.size]
        w.characters = w.text.size - w.start
    else:
        w.start, w.characters = w.text.size, 0
    return p + taken


cdef Place take_ascii(const Plan* s, Work* w, Place p, Place end, bint by_space, int least) noexcept nogil:
    """Make tokens of ASCII; return where it ends.  There is room for all of it."""
    cdef uint8_t[PIECE + 80] lowered
    cdef uint32_t[PIECE + 80] edges
    cdef Py_ssize_t size, taken, first, n
    cdef bint still_open
    while p < end:
        size = end - p if end - p < PIECE else PIECE
        taken = cwlearn_edges(edges, lowered, p, size, s.lowercase, by_space, &n)
        first = 0
        if w.characters and taken:
            if n and edges[0] == 0:
                go_on(w, lowered, edges[1])
                first = 2
            if first == 0 or edges[1] < taken:
                close_token(s, w, least)
        if n > first:
            still_open = edges[n - 1] == taken           # or ends just there
            add_tokens(s, w, lowered, edges + first, n - first - 2 * still_open, least)
            if still_open:
                go_on(w, lowered + edges[n - 2], taken - edges[n - 2])
        p += taken
        if taken < size:
            break
    return p


cdef bint take_ascii_characters(const Plan* s, Work* w, Place p, Place end) noexcept nogil:
    """Make characters of a document that is ASCII; False if it is not."""
    cdef uint8_t[64] rest
    cdef uint8_t[64] lowered
    cdef uint64_t spaces, others
    cdef uint64_t before = 0                 # 1: the character before is white space
    cdef int size, k
    while p < end:
        size = 64
        if end - p < 64:
            size = <int> (end - p)
            memset(rest, c"x", 64)
            memcpy(rest, p, size)
            spaces = ~cwlearn_classify(rest, lowered, s.lowercase, True, &others)
        else:
            spaces = ~cwlearn_classify(p, lowered, s.lowercase, True, &others)
        if others:
            return False
        if not spaces & (spaces << 1 | before):
            memcpy(w.text.data + w.text.size, lowered, 64)
            w.text.size += size
            w.run = spaces >> (size - 1) & 1
        else:
            for k in range(size):
                if not spaces >> k & 1:
                    w.run = 0
                else:
                    w.run += 1
                    if w.run > 1:            # the second one in a row: both become a space
                        w.text.data[w.text.size - 1] = c" "
                        continue
                w.text.data[w.text.size] = lowered[k]
                w.text.size += 1
        before = spaces >> (size - 1) & 1
        p += size
    return True


cdef bint take_all_ascii(const Plan* s, Work* w, Place p, Place end) noexcept nogil:
    """Cut a document that is ASCII into characters; False if it is not, or if n-grams need bounds."""
    if s.analyzer == CHARACTERS:
        w.ascii = take_ascii_characters(s, w, p, end)
    elif s.low > 1:                          # the space between two words is a character of both
        w.text.data[0] = c" "
        w.text.size = w.start = 1
        w.ascii = take_ascii(s, w, p, end, True, 1) == end
        if w.ascii and w.characters:
            close_token(s, w, 1)
    return w.ascii


cdef inline bint put_in_word(const Plan* s, Work* w, Place p, int length, bint letter) noexcept nogil:
    """Go on with a character of a text that is cut into tokens; there is room for it."""
    if letter:
        memcpy(w.text.data + w.text.size, p, length)
        w.text.size += length
        w.characters += 1
    elif w.characters:
        close_token(s, w, s.least)
    return True


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


cdef int take_apart(
    const Plan* s, Work* w, Place p, Place end, bint want_bounds, uint32_t* detail, Place* where,
) noexcept nogil:
    """Make tokens, or characters, of a document; `where` is the place of what ended it early."""
    cdef uint8_t blank = c" "
    cdef int status
    cdef Place later                         # up to here, characters are taken one by one
    clear(w)
    if not reserve(&w.text, (end - p) + 512) or not reserve(&w.bounds, (end - p) // 2 + 64):
        return NO_MEMORY
    if s.analyzer != WORDS and not want_bounds:
        if take_all_ascii(s, w, p, end):
            return FINE
        clear(w)
    later = p
    while p < end:
        # There is room for all that is left, and some more, if it is ASCII.
        if s.analyzer == WORDS and p >= later:
            if cwlearn_wide > 1 and not s.has_stop_words:
                p = take_ascii_at_once(s, w, p, end)
            else:
                p = take_ascii(s, w, p, end, s.by_space, s.least)
            later = p + 32
            continue
        where[0] = p
        status = take_character(s, w, &p, end, detail)
        if status:
            return status
    if s.analyzer == WORDS and w.characters:
        close_token(s, w, s.least)
    if s.analyzer == BOUNDED and w.bounds.size and w.run == 0:
        if not reserve(&w.text, 4) or not put_character(s, w, &blank, 1, True):
            return NO_MEMORY
    if not reserve(&w.bounds, 1):
        return NO_MEMORY
    # Behind the last token stands a space; of characters the end is the end.
    w.bounds.data[w.bounds.size] = <uint32_t> w.text.size
    return FINE


cdef void clear(Work* w) noexcept nogil:
    w.text.size = w.bounds.size = w.pads.size = w.keys.size = 0
    w.start = w.characters = w.run = 0
    w.ascii = False


cdef int take_character(const Plan* s, Work* w, Place* place, Place end, uint32_t* detail) noexcept nogil:
    """Go on with the next character of a document."""
    cdef Place p = place[0]
    cdef Place q
    cdef Place q_end
    cdef uint32_t code = p[0]
    cdef uint8_t[8] text
    cdef int32_t other
    cdef int length = 1
    cdef bint fits
    if code < 0x80:
        text[0] = s.lower[code]
        place[0] = p + 1
        return FINE if put(s, w, text, 1, code) else NO_MEMORY
    length = decoded(p, end, &code)
    if not length:
        return BAD_BYTES
    if not cwlearn_is_published(s.published + (code >> 8)):
        detail[0] = code >> 8
        return NO_PAGE
    if code == SIGMA and s.lowercase:
        return CAPITAL_SIGMA
    if w.text.size > MOST_TEXT or not reserve(&w.text, (end - p) + 512) or not reserve(&w.bounds, (end - p) // 2 + 512):
        return NO_MEMORY
    place[0] = p + length
    other = s.replacements[code]
    if other == 0:
        fits = put(s, w, p, length, code)
    elif other > 0:
        fits = put(s, w, text, encoded(<uint32_t> other, text), <uint32_t> other)
    else:
        q = s.expansions - other
        q_end = q + 1 + q[0]
        q += 1
        fits = True
        while fits and q < q_end:
            code = q[0]
            length = 1 if code < 0x80 else decoded(q, q_end, &code)
            fits = put(s, w, q, length, code)
            q += length
    return FINE if fits else NO_MEMORY
