/* The C++ half of the example, as Rust calls it. */
#ifndef WORDS_LENGTHS_H
#define WORDS_LENGTHS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Adds to counts[n] the number of words of n characters, for n below `rooms`; longer words count as the longest. */
void words_count_lengths(char const* text, size_t size, uint64_t* counts, size_t rooms);
/* Writes the threads of the program's pool, as C++ code finds them, and returns how many there are. */
size_t words_threads_of_pool(uintptr_t* threads, size_t room);

#if defined(__cplusplus)
}
#endif

#endif
