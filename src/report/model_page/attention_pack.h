/* attention_pack.h -- attention weights as few bytes: rounded to 16 bits or fewer, deflated. */
#ifndef ATTN_REPORT_ATTENTION_PACK_H
#define ATTN_REPORT_ATTENTION_PACK_H

#include "attn/model.h"

enum { ATTN_PACK_KINDS = 3, ATTN_PACK_LARGEST = 3 };

/* The rounded maps of one kind of attention. */
struct attn_packed_kind {
  const attn_attention **head; /* heads; NULL: the kind is absent */
  int32_t heads, layers;
  int64_t queries, keys;
  int32_t rollouts; /* maps of rollout that follow the heads: `layers` or 0 */
  uint16_t *level;  /* (heads + rollouts, queries, keys) in units of 1/65535; NULL once deflated */
  unsigned char *bytes; /* deflated: a plane of bytes of all levels, or two, the high bytes first */
  size_t size;
};

/* The maps of one input. */
struct attn_packed {
  struct attn_packed_kind kind[ATTN_PACK_KINDS];
  int32_t levels; /* a weight of 1 */
};

/* Rounds and deflates all heads. *to is freed by attn_pack_free, after an error as well. */
attn_status attn_pack(const attn_attention *heads, int32_t count, struct attn_packed *to,
                      attn_error *err);
void attn_pack_free(struct attn_packed *packed);

/* The mean of the heads of a kind that have this layer and head, each counted from 1; 0: all; at
 * least one has. Units of 1/65535; the caller frees it. NULL: no memory. */
uint16_t *attn_pack_mean(const struct attn_packed_kind *k, int32_t layer, int32_t head);

/* Nats, the mean over the queries. */
double attn_mean_entropy(const attn_attention *a);

struct attn_largest_weight {
  int64_t query, key;
  double weight;
};

/* The largest weights of a head, in descending order. Returns their number. */
int attn_largest_weights(const attn_attention *a, struct attn_largest_weight to[ATTN_PACK_LARGEST]);

#endif
