// Which lock guards which field: checked by Clang with -Wthread-safety, nothing to other compilers.
//
//     mutex mutex_;
//     unsigned waiters_ RUBATO_GUARDED_BY(mutex_) = 0;
//     void settle() noexcept RUBATO_REQUIRES(mutex_); // the caller holds the lock
//
// Source: Clang's thread safety analysis; the idea of one header of macros is marl's tsa.h.
#pragma once

#if defined(__clang__)
#define RUBATO_THREAD_SAFETY(x) __attribute__((x))
#else
#define RUBATO_THREAD_SAFETY(x)
#endif

#define RUBATO_CAPABILITY RUBATO_THREAD_SAFETY(capability("mutex"))
#define RUBATO_SCOPED_CAPABILITY RUBATO_THREAD_SAFETY(scoped_lockable)
#define RUBATO_GUARDED_BY(lock) RUBATO_THREAD_SAFETY(guarded_by(lock))
#define RUBATO_REQUIRES(...) RUBATO_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define RUBATO_ACQUIRE(...) RUBATO_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define RUBATO_RELEASE(...) RUBATO_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define RUBATO_TRY_ACQUIRE(...) RUBATO_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))
/// For a function whose locking the analysis cannot follow. The reason stands beside it, unless the function
/// holds locks around fork(): it takes them in one function and releases them in another.
#define RUBATO_NOT_ANALYSED RUBATO_THREAD_SAFETY(no_thread_safety_analysis)
