/* clones.h -- a loop compiled for this CPU's wider vectors too, to be chosen when the library is
 * loaded. Without contraction (-ffp-contract=off) the bits are the same. */
#ifndef ATTN_NN_CLONES_H
#define ATTN_NN_CLONES_H

#include <stdint.h> /* defines __GLIBC__ where that is what it is */

/* For static functions alone: of others gcc hands out a resolver's name too. clang does so of all.
 * Sanitizers cannot work before they are loaded themselves; musl has no such choice. */
#ifdef ATTN_CLONES /* by who wants one version alone */
#elif defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ATTN_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define ATTN_CLONES
#endif

#endif
