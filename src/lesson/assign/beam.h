/* beam.h -- a beam search over the blocks of a document. */
#ifndef ATTN_LESSON_BEAM_H
#define ATTN_LESSON_BEAM_H

#include "role_search.h"

enum { ATTN_BEAM_WIDE = 84 };                 /* states that are kept after a block, at most */
static const double ATTN_EQUAL_SCORES = 1e-6; /* in bits */

struct attn_beam;

/* The state before the first block. NULL: no memory. */
struct attn_beam *attn_beam_new(struct attn_relations *relations, struct attn_budget *budget,
                                struct attn_pool *pool, int width);
/* Reads a block. States with a lower score than `least` after it are not kept. -1: no memory. */
int attn_beam_advance(struct attn_beam *beam, const struct attn_candidate *c, double least);
/* The state with the highest score. NULL: none is left. */
const struct attn_state *attn_beam_best(const struct attn_beam *beam);

#endif
