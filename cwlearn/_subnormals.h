/* Another library may have set the processor to flush subnormal numbers to zero (crtfastmath, linked by -ffast-math).
   Our loops undo that, and restore it at their end.  The setting belongs to the thread. */

#if defined(__SSE__) || defined(_M_X64)
#include <xmmintrin.h>
#define CWLEARN_FLUSH_TO_ZERO 0x8040u /* FTZ and DAZ */

static inline unsigned cwlearn_keep_subnormals(void) {
    unsigned before = _mm_getcsr();
    if (before & CWLEARN_FLUSH_TO_ZERO) _mm_setcsr(before & ~CWLEARN_FLUSH_TO_ZERO);
    return before;
}

static inline void cwlearn_as_before(unsigned before) {
    if (before & CWLEARN_FLUSH_TO_ZERO) _mm_setcsr(_mm_getcsr() | (before & CWLEARN_FLUSH_TO_ZERO));
}
#else
static inline unsigned cwlearn_keep_subnormals(void) { return 0; }
static inline void cwlearn_as_before(unsigned before) { (void)before; }
#endif
