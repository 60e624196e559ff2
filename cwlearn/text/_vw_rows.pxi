"""The features of a line, sorted and added up; a part of _vw.pyx."""

cdef struct Entry:
    uint32_t column
    double value


cdef struct Row:              # the features of a line
    Entry* entries
    Entry* spare              # for sorting, as long
    int64_t count
    int64_t room
    uint8_t* name             # of a feature, behind that of its namespace
    int64_t name_room
    const uint8_t* wanted     # NULL, or a bit for each column whose names are counted
    PyObject* names           # a dict of these: the counts of names, by column


cdef bint reserve_entries(Row* row) noexcept nogil:
    """Make room for one more; False if there is no memory."""
    cdef int64_t room
    cdef Entry* data
    if row.count < row.room:
        return True
    room = 2 * row.room + 64
    data = <Entry*> realloc(row.entries, room * sizeof(Entry))
    if data == NULL:
        return False
    row.entries = data
    data = <Entry*> realloc(row.spare, room * sizeof(Entry))
    if data == NULL:
        return False
    row.spare = data
    row.room = room
    return True


cdef bint reserve_name(Row* row, int64_t size) noexcept nogil:
    cdef int64_t room = 2 * size + NAMESPACE
    cdef uint8_t* data
    if size <= row.name_room:
        return True
    data = <uint8_t*> realloc(row.name, room)
    if data == NULL:
        return False
    row.name = data
    row.name_room = room
    return True


cdef void sort_row(Row* row, uint32_t n_features) noexcept nogil:
    """Sort by column; entries of the same column stay in their order."""
    cdef int64_t[256] places
    cdef int64_t i, j, sum, count
    cdef Entry entry
    cdef Entry* other
    cdef int bits = 6 if row.count < 100 else 8         # of a digit
    cdef uint32_t mask = (1 << bits) - 1
    cdef int shift = 0
    if row.count <= 32:                     # by insertion
        for i in range(1, row.count):
            entry = row.entries[i]
            j = i
            while j and row.entries[j - 1].column > entry.column:
                row.entries[j] = row.entries[j - 1]
                j -= 1
            row.entries[j] = entry
        return
    while shift < 32 and (n_features - 1) >> shift:     # digit by digit, from the lowest one
        memset(places, 0, (mask + 1) * sizeof(int64_t))
        for i in range(row.count):
            places[row.entries[i].column >> shift & mask] += 1
        sum = 0
        for i in range(mask + 1):
            count = places[i]
            places[i] = sum
            sum += count
        for i in range(row.count):
            j = row.entries[i].column >> shift & mask
            row.spare[places[j]] = row.entries[i]
            places[j] += 1
        other = row.entries
        row.entries = row.spare
        row.spare = other
        shift += bits


cdef int64_t count_columns(const Row* row) noexcept nogil:
    """How many columns the sorted entries have."""
    cdef int64_t i
    cdef int64_t columns = row.count > 0
    for i in range(1, row.count):
        columns += row.entries[i].column != row.entries[i - 1].column
    return columns


cdef void add_up(const Row* row, int32_t* indices, floating* values) noexcept nogil:
    """Columns and values of the sorted entries; the sums are made in float64."""
    cdef int64_t i = 0
    cdef int64_t k = 0
    cdef uint32_t column
    cdef double sum
    while i < row.count:
        column = row.entries[i].column
        sum = row.entries[i].value
        i += 1
        while i < row.count and row.entries[i].column == column:
            sum += row.entries[i].value
            i += 1
        indices[k] = <int32_t> column
        values[k] = <floating> sum
        k += 1
