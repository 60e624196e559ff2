"""Keys of n-grams to columns and values: a part of `_hashing.pyx`."""


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
    if not reserve(&w.spare, n - w.spare.size):
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


cdef inline double weight_of(const Plan* s, int64_t sum) noexcept nogil:
    if s.weighting == BY_PRESENCE:
        return 1
    if s.weighting == BY_COUNT or -1 <= sum <= 1:
        return <double> sum
    return 1 + logarithm(<double> sum) if sum > 0 else -1 - logarithm(-<double> sum)


cdef double norm_of(const Plan* s, const floating* weights, Py_ssize_t n) noexcept nogil:
    """What the weights of a row are divided by."""
    cdef Py_ssize_t i
    cdef double total = 0
    if s.norm == BY_L1:
        for i in range(n):
            total += fabs(<double> weights[i])
    elif s.norm == BY_L2:
        for i in range(n):
            if floating is float:            # as scikit-learn has it for float32
                total += <double> (weights[i] * weights[i])
            else:
                total += weights[i] * weights[i]
        total = sqrt(total)
    return total if total != 0 else 1


cdef Py_ssize_t add_up(const Plan* s, Work* w, int32_t* indices, floating* values, bint single) noexcept nogil:
    """Columns and values of the sorted keys; return how many, -1 if there is no memory.  Sums of 0 stay."""
    cdef Py_ssize_t i = 0
    cdef Py_ssize_t n = w.keys.size
    cdef Py_ssize_t columns = 0
    cdef uint32_t* keys = w.keys.data
    cdef uint32_t column
    cdef int64_t sum
    cdef double norm
    cdef double* weights
    if floating is double:
        weights = values
    else:
        if not reserve(&w.weights, n):
            return -1
        weights = w.weights.data
    while i < n:
        column = keys[i] >> 1
        sum = 0
        while i < n and keys[i] >> 1 == column:
            sum += 1 - 2 * <int64_t> (keys[i] & 1)
            i += 1
        indices[columns] = <int32_t> column
        weights[columns] = weight_of(s, sum)
        columns += 1
    if floating is float and single:
        for i in range(columns):
            values[i] = <float> weights[i]
        norm = norm_of(s, values, columns)
        for i in range(columns):
            values[i] = <float> (values[i] / norm)
        return columns
    norm = norm_of(s, weights, columns)
    for i in range(columns):
        values[i] = <floating> (weights[i] / norm)
    return columns
