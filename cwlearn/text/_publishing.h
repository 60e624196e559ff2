/* A flag that one thread sets when what it stands for is written, and that others read without a lock. */
#ifndef CWLEARN_PUBLISHING_H
#define CWLEARN_PUBLISHING_H

#if defined(_MSC_VER)
#include <intrin.h>
#define cwlearn_publish(flag) ((void) _InterlockedExchange8((volatile char *) (flag), 1))
#define cwlearn_is_published(flag) (_InterlockedOr8((volatile char *) (flag), 0) != 0)
#else
#define cwlearn_publish(flag) __atomic_store_n((flag), 1, __ATOMIC_RELEASE)
#define cwlearn_is_published(flag) (__atomic_load_n((flag), __ATOMIC_ACQUIRE) != 0)
#endif

#endif
