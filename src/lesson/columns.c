#include "reader.h"
int attn_columns(struct attn_reader *r, size_t *at) {
  (void)r;
  (void)at;
  return ATTN_NO;
}
int attn_labelled_list(struct attn_reader *r, size_t *at) {
  (void)r;
  (void)at;
  return ATTN_NO;
}
