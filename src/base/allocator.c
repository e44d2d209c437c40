#include "allocator.h"

#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "error.h"

enum { HUGE_PAGE = 1 << 21 };

attn_status attn_allocator_check(const attn_allocator *a, attn_error *err) {
  if (!a || (a->allocate && a->release)) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "allocator",
                   "allocator must have both allocate and release");
}

void *attn_memory_allocate(const attn_allocator *a, size_t alignment, size_t bytes) {
  size_t least = bytes ? bytes : 1;
  if (least > SIZE_MAX / 2) return NULL; /* rounding up cannot overflow below */
  size_t whole = (least + alignment - 1) / alignment * alignment;
  return a ? a->allocate(a->context, alignment, whole) : aligned_alloc(alignment, whole);
}

void *attn_memory_allocate_large(size_t alignment, size_t bytes) {
  if (bytes < HUGE_PAGE) return attn_memory_allocate(NULL, alignment, bytes);
  void *memory = attn_memory_allocate(NULL, HUGE_PAGE, bytes);
#ifdef MADV_HUGEPAGE
  if (memory) (void)madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return memory;
}

void attn_memory_release(const attn_allocator *a, void *memory) {
  if (!memory) return;
  if (a)
    a->release(a->context, memory);
  else
    free(memory);
}
