/* clones.h -- loops compiled for AVX-512, for AVX2 and for the baseline; the loader chooses one.
 * Without contraction (-ffp-contract=off) all give the same bits. */
#ifndef ATTN_BASE_CLONES_H
#define ATTN_BASE_CLONES_H

#include <stdint.h> /* defines __GLIBC__ on glibc */

/* Only for static functions: for others gcc exports the resolver, as clang does for all. Resolvers
 * run before the sanitizers are initialized; musl does not support them. */
#ifdef ATTN_CLONES /* the build defines it to get one version */
#elif defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ATTN_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ATTN_CLONES
#endif

/* A function that such a loop calls: part of each version. */
#define ATTN_INLINE static inline __attribute__((always_inline))

#endif
