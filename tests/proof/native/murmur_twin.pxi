"""MurmurHash3_x86_32 with the seed 0, byte by byte from its description."""


cdef uint32_t slow_murmur(const uint8_t* data, int64_t size) noexcept nogil:
    cdef uint32_t h = 0
    cdef uint32_t k = 0
    cdef int64_t i
    for i in range(size):
        k |= <uint32_t> data[i] << 8 * (i % 4)
        if i % 4 == 3 or i == size - 1:
            k *= 0xcc9e2d51u
            k = k << 15 | k >> 17
            k *= 0x1b873593u
            h ^= k
            if i % 4 == 3:
                h = h << 13 | h >> 19
                h = h * 5 + 0xe6546b64u
            k = 0
    h ^= <uint32_t> size
    h ^= h >> 16
    h *= 0x85ebca6bu
    h ^= h >> 13
    h *= 0xc2b2ae35u
    return h ^ h >> 16
