/* Another library may have told the processor to take numbers near zero for zero (crtfastmath, as -ffast-math links it).
   Our loops undo that, and set it again when they are done.  The state belongs to the thread. */

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
