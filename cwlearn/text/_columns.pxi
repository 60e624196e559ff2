"""Keys of n-grams to columns and values: a part of `_hashing.pyx`."""


cdef bint sort_few(uint32_t* keys, Py_ssize_t n, Py_ssize_t moves) noexcept nogil:
    """Insertion sort; False if that takes more than so many moves."""
    cdef Py_ssize_t i, j
    cdef uint32_t key
    for i in range(1, n):
        key = keys[i]
        j = i
        while j and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key
        moves -= i - j
        if moves < 0:
            return False
    return True


cdef bint sort_keys(Work* w, int bits) noexcept nogil:
    """Sort by column: into buckets by the highest bits, then within buckets, which are short as hashes are even."""
    cdef uint32_t[4096] places
    cdef uint32_t* target
    cdef Py_ssize_t n = w.keys.size
    cdef Py_ssize_t i
    cdef uint32_t sum, count
    cdef int digit, shift
    if n <= 24:
        sort_few(w.keys.data, n, n * n)
        return True
    if not reserve(&w.spare, n):
        return False
    digit = 6
    while digit < 12 and <Py_ssize_t> 1 << digit < n:
        digit += 1
    shift = bits + 1 - digit if bits + 1 > digit else 0
    target = w.spare.data
    memset(places, 0, sizeof(uint32_t) << digit)
    for i in range(n):
        places[w.keys.data[i] >> shift] += 1
    sum = 0
    for i in range(1 << digit):
        count = places[i]
        places[i] = sum
        sum += count
    for i in range(n):
        target[places[w.keys.data[i] >> shift]] = w.keys.data[i]
        places[w.keys.data[i] >> shift] += 1
    swap(&w.keys, &w.spare)
    if n > 16 << digit or not sort_few(w.keys.data, n, 8 * n):
        sort_many(w, bits)
    return True


cdef inline void swap(Numbers* keys, Numbers* spare) noexcept nogil:
    cdef uint32_t* data = keys.data
    cdef Py_ssize_t room = keys.room
    keys.data, keys.room = spare.data, spare.room
    spare.data, spare.room = data, room


cdef void sort_many(Work* w, int bits) noexcept nogil:
    """Sort by column: digit by digit, from the lowest one; the sign does not count.  `spare` is as long as `keys`."""
    cdef uint32_t[2048] places
    cdef Py_ssize_t n = w.keys.size
    cdef Py_ssize_t i
    cdef uint32_t sum, count, mask
    cdef int passes = (bits + 10) // 11
    cdef int wide = (bits + passes - 1) // passes if passes else 1
    cdef int turn, shift
    mask = (<uint32_t> 1 << wide) - 1
    for turn in range(passes):
        shift = 1 + turn * wide
        memset(places, 0, (mask + 1) * sizeof(uint32_t))
        for i in range(n):
            places[w.keys.data[i] >> shift & mask] += 1
        sum = 0
        for i in range(mask + 1):
            count = places[i]
            places[i] = sum
            sum += count
        for i in range(n):
            w.spare.data[places[w.keys.data[i] >> shift & mask]] = w.keys.data[i]
            places[w.keys.data[i] >> shift & mask] += 1
        swap(&w.keys, &w.spare)


cdef Py_ssize_t count_columns(Work* w) noexcept nogil:
    """How many columns the sorted keys have."""
    cdef Py_ssize_t i, columns = w.keys.size > 0
    for i in range(1, w.keys.size):
        columns += (w.keys.data[i] ^ w.keys.data[i - 1]) > 1
    return columns


cdef double weight_of(const Plan* s, int32_t sum) noexcept nogil:
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


cdef Py_ssize_t sum_up(const uint32_t* keys, Py_ssize_t n, int32_t* indices, int32_t* sums) noexcept nogil:
    """Columns of sorted keys and their sums; return how many.  There is no branch, as no processor would foresee it."""
    cdef Py_ssize_t i
    cdef Py_ssize_t last = 0                 # column
    cdef int32_t sum = 0
    cdef uint32_t is_new
    for i in range(n):
        is_new = i > 0 and (keys[i] ^ keys[i - 1]) > 1
        last += is_new
        sum = (sum & (<int32_t> is_new - 1)) + 1 - 2 * <int32_t> (keys[i] & 1)
        indices[last] = <int32_t> (keys[i] >> 1)
        sums[last] = sum
    return last + 1 if n else 0


cdef Py_ssize_t add_up(const Plan* s, Work* w, int32_t* indices, floating* values, bint single) noexcept nogil:
    """Columns and values of the sorted keys; return how many, -1 if there is no memory.  Sums of 0 stay."""
    cdef Py_ssize_t n = w.keys.size
    cdef Py_ssize_t i, columns
    cdef int32_t* sums
    cdef double norm
    cdef double* weights
    if not reserve(&w.spare, n):
        return -1
    sums = <int32_t*> w.spare.data
    if floating is double:
        weights = values
    else:
        if not reserve(&w.weights, n):
            return -1
        weights = w.weights.data
    columns = sum_up(w.keys.data, n, indices, sums)
    for i in range(columns):
        weights[i] = s.weights[sums[i]] if -KNOWN_WEIGHTS <= sums[i] <= KNOWN_WEIGHTS else weight_of(s, sums[i])
    if floating is float and single:
        for i in range(columns):
            values[i] = <float> weights[i]
        norm = norm_of(s, values, columns)
        for i in range(columns):
            values[i] = <float> (values[i] / norm)
        return columns
    norm = norm_of(s, weights, columns)
    if norm != 1:
        for i in range(columns):
            weights[i] /= norm
    if floating is float:
        for i in range(columns):
            values[i] = <float> weights[i]
    return columns
