/* lender.h -- a host's allocator whose memory ends at a guard page: a write beyond the requested
 * bytes is a fault. */
#ifndef TEST_LENDER_H
#define TEST_LENDER_H

#include "attn/attn.h"
#include "guarded.h"

static struct guarded lent[16];

static inline void *lend(void *context, size_t alignment, size_t bytes) {
  (void)context;
  for (int n = 0; n < 16; n++)
    if (!lent[n].pages) {
      lent[n] = guarded_new((bytes + alignment - 1) / alignment * alignment, 1);
      memset(lent[n].data, 0xFF, bytes);
      return lent[n].data;
    }
  return NULL;
}

static inline void take_back(void *context, void *memory) {
  (void)context;
  for (int n = 0; n < 16; n++)
    if (lent[n].pages && lent[n].data == memory) {
      guarded_free(&lent[n]);
      lent[n].pages = NULL;
    }
}

static const attn_allocator lender = {NULL, lend, take_back};

#endif
