/* Ask for memory that is needed soon: no nearer than L2, whose queue is longer. */

#ifndef CWLEARN_PREFETCH
#define CWLEARN_PREFETCH

#if defined(__GNUC__) || defined(__clang__)
#define cwlearn_prefetch(address) __builtin_prefetch(address, 0, 2)
#else
#define cwlearn_prefetch(address) ((void)(address))
#endif

#endif
