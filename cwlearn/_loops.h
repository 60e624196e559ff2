/* How the compiler treats a loop whose length it does, or does not, know. */

#ifndef CWLEARN_LOOPS
#define CWLEARN_LOOPS

#if defined(__clang__)
#define CWLEARN_UNROLLED _Pragma("clang loop unroll(full)")
#define CWLEARN_NOT_UNROLLED _Pragma("clang loop unroll(disable)")
#elif defined(__GNUC__)
#define CWLEARN_UNROLLED _Pragma("GCC unroll 8")
#define CWLEARN_NOT_UNROLLED _Pragma("GCC unroll 1")
#else
#define CWLEARN_UNROLLED
#define CWLEARN_NOT_UNROLLED
#endif

#endif
