#include "reader.h"
int attn_snippet(struct attn_reader *r, size_t *at) {
  (void)r;
  (void)at;
  return ATTN_NO;
}
int attn_fence(struct attn_reader *r, size_t *at) {
  (void)r;
  (void)at;
  return ATTN_NO;
}
