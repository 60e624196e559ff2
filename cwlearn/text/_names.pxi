"""The n-grams behind columns: a part of `_hashing.pyx`."""

cdef enum:
    FILTER_BITS = 16


cdef struct Entry:            # a distinct n-gram
    uint32_t hash
    uint32_t column
    Py_ssize_t start          # in the text of Names
    Py_ssize_t size
    int64_t count


@cython.final
@cython.auto_pickle(False)
cdef class Names:
    """The n-grams that hash to some columns, and how often each was found."""

    cdef int32_t[::1] wanted                 # columns, in rising order
    cdef uint8_t[1 << (FILTER_BITS - 3)] filter   # a bit by the low bits of a column: maybe it is wanted
    cdef Bytes text
    cdef Entry* entries
    cdef Py_ssize_t n_entries
    cdef Py_ssize_t room                     # of entries, a power of two; there are twice as many slots
    cdef uint32_t* slots                     # by hash: an entry + 1, or 0

    def __init__(self, wanted):
        cdef Py_ssize_t k
        self.wanted = wanted
        memset(self.filter, 0, sizeof(self.filter))
        for k in range(self.wanted.shape[0]):
            if k and self.wanted[k - 1] >= self.wanted[k]:
                raise ValueError("the columns must rise")
            self.filter[(self.wanted[k] & ((1 << FILTER_BITS) - 1)) >> 3] |= <uint8_t> (1 << (self.wanted[k] & 7))

    def __dealloc__(self):
        free(self.text.data)
        free(self.entries)
        free(self.slots)

    def found(self):
        """By column: the n-grams as text, with their counts."""
        cdef Py_ssize_t k
        cdef Entry* entry
        cdef dict names = {}
        for k in range(self.n_entries):
            entry = self.entries + k
            text = (<const char*> self.text.data + entry.start)[:entry.size].decode("utf-8")
            names.setdefault(<int32_t> entry.column, {})[text] = entry.count
        return names

    cdef inline bint may_be_wanted(self, uint32_t column) noexcept nogil:
        return self.filter[(column & ((1 << FILTER_BITS) - 1)) >> 3] >> (column & 7) & 1

    cdef bint is_wanted(self, uint32_t column) noexcept nogil:
        cdef Py_ssize_t low = 0
        cdef Py_ssize_t high = self.wanted.shape[0]
        cdef Py_ssize_t middle
        if not self.may_be_wanted(column):
            return False
        while low < high:
            middle = (low + high) // 2
            if <uint32_t> self.wanted[middle] < column:
                low = middle + 1
            else:
                high = middle
        return low < self.wanted.shape[0] and <uint32_t> self.wanted[low] == column

    cdef bint grow(self) noexcept nogil:
        """Make room for twice as many entries."""
        cdef Py_ssize_t room = 2 * self.room if self.room else 256
        cdef Entry* entries = <Entry*> realloc(self.entries, room * sizeof(Entry))
        cdef uint32_t* slots
        cdef Py_ssize_t k, place
        if entries == NULL:
            return False
        self.entries = entries
        slots = <uint32_t*> calloc(2 * room, sizeof(uint32_t))
        if slots == NULL:
            return False
        for k in range(self.n_entries):
            place = entries[k].hash & (2 * room - 1)
            while slots[place]:
                place = (place + 1) & (2 * room - 1)
            slots[place] = <uint32_t> (k + 1)
        free(self.slots)
        self.slots, self.room = slots, room
        return True

    cdef bint count(self, const Plan* s, Place data, Py_ssize_t size) noexcept nogil:
        """Count an n-gram, if its column is wanted; False if there is no memory."""
        cdef uint32_t hash = murmur(data, size)
        cdef uint32_t column = key_of(s, hash) >> 1
        cdef Py_ssize_t place
        cdef Entry* entry
        if not self.is_wanted(column):
            return True
        if self.n_entries == self.room and not self.grow():
            return False
        place = hash & (2 * self.room - 1)
        while self.slots[place]:
            entry = self.entries + self.slots[place] - 1
            if entry.hash == hash and entry.size == size and memcmp(self.text.data + entry.start, data, size) == 0:
                entry.count += 1
                return True
            place = (place + 1) & (2 * self.room - 1)
        if not reserve(&self.text, size):
            return False
        entry = self.entries + self.n_entries
        entry.hash, entry.column, entry.start, entry.size, entry.count = hash, column, self.text.size, size, 1
        memcpy(self.text.data + self.text.size, data, size)
        self.text.size += size
        self.n_entries += 1
        self.slots[place] = <uint32_t> self.n_entries
        return True

    cdef bint count_words(self, const Plan* s, Work* w) noexcept nogil:
        """Count the n-grams of all tokens.  They are hashed at once, and few of them are wanted."""
        cdef const uint32_t* bounds = w.bounds.data
        cdef const uint32_t* keys
        cdef Py_ssize_t n, i
        if not add_word_ngrams(s, w):
            return False
        keys = w.keys.data
        for n in range(s.low, highest(s, w.bounds.size) + 1):
            for i in range(w.bounds.size - n + 1):
                if self.may_be_wanted(keys[i] >> 1) and not self.count(
                    s, w.text.data + bounds[i], bounds[i + n] - 1 - bounds[i]
                ):
                    return False
            keys += w.bounds.size - n + 1
        return True

    cdef bint count_spans(
        self, const Plan* s, const Work* w, Py_ssize_t first, Py_ssize_t length, int low,
    ) noexcept nogil:
        """Count the n-grams of `length` characters."""
        cdef const uint32_t* bounds = w.bounds.data + first
        cdef Py_ssize_t n, i
        for n in range(low, highest(s, length) + 1):
            for i in range(length - n + 1):
                if not self.count(s, w.text.data + bounds[i], bounds[i + n] - bounds[i]):
                    return False
        return True

    cdef bint count_all(self, const Plan* s, Work* w) noexcept nogil:
        """Count the n-grams of a document that is taken apart."""
        cdef Py_ssize_t k, first, length
        if s.analyzer == WORDS:
            return self.count_words(s, w)
        if s.analyzer == CHARACTERS:
            return self.count_spans(s, w, 0, w.bounds.size, s.low)
        for k in range(w.pads.size - 1):
            first = w.pads.data[k]
            length = w.pads.data[k + 1] + 1 - first
            # A word that is shorter than all n-grams counts once.
            if not self.count_spans(s, w, first, length, s.low if s.low < length else <int> length):
                return False
        return True


def name_documents(
    Documents documents not None, Settings settings not None, Py_ssize_t first, Py_ssize_t stop, Names names not None,
):
    """Count the wanted n-grams of the documents from `first` to `stop`; returns as `hash_documents` does."""
    cdef Plan* s = &settings.plan
    cdef Work w
    cdef Py_ssize_t number = first
    cdef int status = FINE
    cdef uint32_t detail = 0
    if not 0 <= first <= stop <= documents.count:
        raise ValueError("there are no such documents")
    memset(&w, 0, sizeof(Work))
    with nogil:
        while number < stop:
            status = next_document(s, &w, documents, number, True, &detail)
            if status == FINE and not names.count_all(s, &w):
                status = NO_MEMORY
            if status:
                break
            number += 1
        free_work(&w)
    if status == NO_MEMORY:
        raise MemoryError(f"document {number} needs too much memory")
    return status, number, detail
