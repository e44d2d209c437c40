/* graph.h -- from a document's items to examples of steps. */
#ifndef ATTN_LESSON_GRAPH_H
#define ATTN_LESSON_GRAPH_H

#include "document.h"

/* The private whole of a lesson: the public part first, so that the pointers convert. */
struct attn_lesson_owner {
  attn_lesson lesson;
  struct attn_pool *memory;
};

/* Makes the examples: which matrix is which step, what it is computed from, in which
 * orientation; evaluates every step. document may be freed afterwards. */
attn_status attn_graph_assemble(const struct attn_document *document, const char *file,
                                attn_lesson **lesson, attn_error *err);

#endif
