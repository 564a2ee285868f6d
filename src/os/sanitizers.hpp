// Which sanitizer the library is built with.
#pragma once

#if !defined(__has_feature)
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define RUBATO_UNDER_TSAN
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define RUBATO_UNDER_ASAN
#endif
