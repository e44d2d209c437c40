/* guarded.h -- memory between two guard pages, flush against one of them: an access one element
 * too far is a fault. */
#ifndef TEST_GUARDED_H
#define TEST_GUARDED_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct guarded {
  char *pages;
  size_t length;
  void *data;
};

/* Allocates bytes that end (at_end) or begin at a guard page. */
static inline struct guarded guarded_new(size_t bytes, int at_end) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (bytes + page - 1) / page * page;
  struct guarded g = {NULL, inner + 2 * page, NULL};
  g.pages = mmap(NULL, g.length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (g.pages == MAP_FAILED || (inner && mprotect(g.pages + page, inner, PROT_READ | PROT_WRITE)))
    abort();
  g.data = g.pages + page + (at_end ? inner - bytes : 0);
  return g;
}

/* Makes the memory read-only: a write is a fault. */
static inline void guarded_freeze(struct guarded *g) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (g->length > 2 * page && mprotect(g->pages + page, g->length - 2 * page, PROT_READ)) abort();
}

static inline void guarded_free(struct guarded *g) { munmap(g->pages, g->length); }

#endif
