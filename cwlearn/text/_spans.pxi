"""Spans of bytes: numbering the different ones, and joining them; a part of _records.pyx."""

cdef struct Key:              # of a hash, secret, so that no text can be made to collide
    uint64_t first
    uint64_t second

cdef Key HASH_KEY
HASH_KEY.first = int.from_bytes(os.urandom(8), "little")
HASH_KEY.second = int.from_bytes(os.urandom(8), "little")


cdef inline uint64_t turned(uint64_t x, int bits) noexcept nogil:
    return x << bits | x >> (64 - bits)


cdef inline void sip_round(uint64_t* v) noexcept nogil:
    v[0] += v[1]
    v[1] = turned(v[1], 13) ^ v[0]
    v[0] = turned(v[0], 32)
    v[2] += v[3]
    v[3] = turned(v[3], 16) ^ v[2]
    v[0] += v[3]
    v[3] = turned(v[3], 21) ^ v[0]
    v[2] += v[1]
    v[1] = turned(v[1], 17) ^ v[2]
    v[2] = turned(v[2], 32)


cdef uint64_t keyed_hash(Place p, int64_t size) noexcept nogil:
    """SipHash-1-3 (Aumasson, Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012), as Python has for str."""
    cdef uint64_t[4] v
    cdef uint64_t word
    cdef int64_t at = 0
    v[0] = HASH_KEY.first ^ <uint64_t> 0x736f6d6570736575
    v[1] = HASH_KEY.second ^ <uint64_t> 0x646f72616e646f6d
    v[2] = HASH_KEY.first ^ <uint64_t> 0x6c7967656e657261
    v[3] = HASH_KEY.second ^ <uint64_t> 0x7465646279746573
    while size - at >= 8:
        memcpy(&word, p + at, 8)
        v[3] ^= word
        sip_round(v)
        v[0] ^= word
        at += 8
    word = 0
    memcpy(&word, p + at, size - at)
    word ^= <uint64_t> size << 56
    v[3] ^= word
    sip_round(v)
    v[0] ^= word
    v[2] ^= 0xFF
    sip_round(v)
    sip_round(v)
    sip_round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


cdef struct Slot:             # of a hash table
    uint64_t hash
    int64_t number            # of a span, from 1; 0 if the slot is free


cdef Slot* grown(Slot* old, int64_t old_size) noexcept nogil:
    """A table of twice the size with the same spans, or NULL; the old one is freed."""
    cdef int64_t size = 2 * old_size
    cdef Slot* new = <Slot*> calloc(size, sizeof(Slot))
    cdef int64_t k, place
    if new != NULL:
        for k in range(old_size):
            if old[k].number:
                place = <int64_t> (old[k].hash & <uint64_t> (size - 1))
                while new[place].number:
                    place = (place + 1) & (size - 1)
                new[place] = old[k]
    free(old)
    return new


cdef check_spans(const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops):
    cdef int64_t k
    if starts.shape[0] != stops.shape[0]:
        raise ValueError("starts and stops differ in length")
    for k in range(starts.shape[0]):
        if not 0 <= starts[k] <= stops[k] <= buffer.shape[0]:
            raise ValueError("a span lies outside of the buffer")


def intern_spans(const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops):
    """Number the different spans in the order in which they first occur.

    Returns the number of each span, and for each number the first span that has it.
    """
    cdef int64_t n = starts.shape[0]
    cdef int64_t size = 256       # of the table, a power of two
    cdef int64_t count = 0        # of different spans
    cdef int64_t k, place, length, other
    cdef uint64_t hash
    cdef Place span
    cdef Place base = NULL
    cdef Slot* table
    cdef int64_t[::1] codes, firsts
    check_spans(buffer, starts, stops)
    numbers = np.empty(n, np.int64)
    first_spans = np.empty(n, np.int64)
    if not n:
        return numbers, []
    codes, firsts = numbers, first_spans
    table = <Slot*> calloc(size, sizeof(Slot))
    if buffer.shape[0]:
        base = &buffer[0]
    with nogil:
        for k in range(n):
            if table == NULL:
                break
            span = base + starts[k] if base != NULL else <Place> &HASH_KEY
            length = stops[k] - starts[k]
            hash = keyed_hash(span, length)
            place = <int64_t> (hash & <uint64_t> (size - 1))
            while table[place].number:
                other = firsts[table[place].number - 1]
                if (table[place].hash == hash and stops[other] - starts[other] == length
                        and (length == 0 or memcmp(base + starts[other], span, length) == 0)):
                    break
                place = (place + 1) & (size - 1)
            if table[place].number:
                codes[k] = table[place].number - 1
                continue
            firsts[count] = k
            codes[k] = count
            count += 1
            table[place] = Slot(hash, count)
            if 2 * count > size:
                table = grown(table, size)
                size *= 2
    if table == NULL:
        raise MemoryError
    free(table)
    return numbers, first_spans[:count].tolist()


cdef inline bint is_text(uint8_t kind) noexcept nogil:
    return kind != IS_MISSING and kind != IS_NULL and kind != IS_OTHER


def joined_size(const int64_t[:, :] starts, const int64_t[:, :] stops):
    """Bytes that are enough for `join_spans`."""
    return int((np.asarray(stops) - np.asarray(starts)).sum()) + starts.shape[0] * starts.shape[1]


def join_spans(
    int64_t[::1] out_starts, int64_t[::1] out_stops, uint8_t[::1] out, int64_t used, const uint8_t[::1] buffer,
    const int64_t[:, :] starts, const int64_t[:, :] stops, const uint8_t[:, :] kinds,
):
    """Make documents of several fields: those that have text, with a line end between them.

    The fields are the rows of starts, stops and kinds, as splitters make them; the documents are appended to the first
    `used` bytes of `out`.  Returns the bytes used now.
    """
    cdef int64_t fields = starts.shape[0]
    cdef int64_t n = starts.shape[1]
    cdef int64_t i, k, length
    cdef bint any_text
    cdef Place base
    if not (stops.shape[0] == kinds.shape[0] == fields and stops.shape[1] == kinds.shape[1] == n):
        raise ValueError("the arrays of fields differ in their shape")
    if min(out_starts.shape[0], out_stops.shape[0]) < n:
        raise ValueError("the arrays of documents are too short")
    for k in range(fields):
        for i in range(n):
            if not 0 <= starts[k, i] <= stops[k, i] <= buffer.shape[0]:
                raise ValueError("a span lies outside of the buffer")
    if used < 0 or out.shape[0] - used < joined_size(starts, stops):
        raise ValueError("there is no room for the documents")
    base = &buffer[0] if buffer.shape[0] else NULL
    with nogil:
        for i in range(n):
            out_starts[i] = used
            any_text = False
            for k in range(fields):
                if not is_text(kinds[k, i]):
                    continue
                if any_text:
                    out[used] = c"\n"
                    used += 1
                any_text = True
                length = stops[k, i] - starts[k, i]
                if length:
                    memcpy(&out[0] + used, base + starts[k, i], length)
                    used += length
            out_stops[i] = used
    return used
