"""Where documents lie: a part of `_hashing.pyx`."""


@cython.final
@cython.auto_pickle(False)
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

    def __dealloc__(self):
        free(self.start)
        free(self.length)

    def __len__(self):
        return self.count

    @property
    def size(self):
        """The bytes of all documents."""
        cdef Py_ssize_t number
        cdef Py_ssize_t sum = 0
        for number in range(self.count):
            sum += self.length[number]
        return sum

    def __getitem__(self, Py_ssize_t number):
        """The bytes of a document."""
        if not 0 <= number < self.count:
            raise IndexError(number)
        return (<const char*> self.start[number])[:self.length[number]]


def documents_of(texts):
    """Strings, or bytes of UTF-8."""
    cdef list given = list(texts)
    cdef Documents documents = Documents(len(given))
    cdef Py_ssize_t number
    cdef object text
    documents.owners = given
    for number in range(len(given)):
        text = given[number]
        if isinstance(text, str):
            if PyUnicode_IS_COMPACT_ASCII(text):
                documents.start[number] = <Place> PyUnicode_DATA(text)
                documents.length[number] = PyUnicode_GET_LENGTH(text)
                continue
            given[number] = text = text.encode("utf-8")
        if not isinstance(text, bytes):
            raise TypeError(f"expected strings or bytes, got {type(text).__name__}")
        documents.start[number] = <Place> PyBytes_AS_STRING(text)
        documents.length[number] = PyBytes_GET_SIZE(text)
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
