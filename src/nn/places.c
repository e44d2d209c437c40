#include "places.h"

enum { ALIGNMENT = 64 };

void attn_places_take(struct attn_places *all, struct attn_place *one, size_t bytes) {
  struct attn_place **link = &all->first;
  size_t at = 0;
  bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  for (; *link && (*link)->at - at < bytes; link = &(*link)->next)
    at = (*link)->at + (*link)->bytes;
  *one = (struct attn_place){at, bytes, *link}, *link = one;
  if (all->most < at + bytes) all->most = at + bytes;
}

void attn_places_give(struct attn_places *all, struct attn_place *one) {
  struct attn_place **link = &all->first;
  while (*link && *link != one) link = &(*link)->next;
  if (*link) *link = one->next;
}
