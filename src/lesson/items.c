/* items.c -- adding items to the document. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "reader.h"

int attn_reader_fail(struct attn_reader *r, size_t offset, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  r->status = attn_source_fail(&r->source, offset, r->err, format, arguments);
  va_end(arguments);
  return ATTN_FAILED;
}

int attn_charge(struct attn_reader *r, size_t begin, size_t end) {
  size_t bytes = end - begin;
  if (bytes > r->lookahead)
    return attn_reader_fail(r, begin, "too many brackets that are never closed: close this one");
  r->lookahead -= bytes;
  return ATTN_NO;
}

int attn_reader_no_memory(struct attn_reader *r) {
  r->status = attn_fail(r->err, ATTN_ERR_MEMORY, NULL, "no memory for the document");
  return ATTN_FAILED;
}

struct attn_item *attn_reader_add(struct attn_reader *r, enum attn_item_kind kind, size_t offset) {
  struct attn_document *d = r->document;
  if (attn_pool_grow(r->pool, (void **)&d->item, (size_t)d->items, sizeof *d->item))
    return attn_reader_no_memory(r), NULL;
  struct attn_source_position place = attn_source_place(&r->source, offset);
  struct attn_item *item = &d->item[d->items++];
  memset(item, 0, sizeof *item);
  item->kind = kind;
  item->line = place.line;
  item->column = place.column;
  item->block = r->block;
  r->pending = (struct attn_span){0, 0};
  return item;
}

int attn_reader_sentence(struct attn_reader *r, struct attn_span span) {
  char *text = attn_collapse(r, span);
  if (!text) return ATTN_FAILED;
  if (!*text) return ATTN_YES;
  struct attn_item *item = attn_reader_add(r, ATTN_ITEM_SENTENCE, attn_trim(r, span).begin);
  if (!item) return ATTN_FAILED;
  item->text = text;
  return ATTN_YES;
}

int attn_reader_heading(struct attn_reader *r, struct attn_span span, int level) {
  char *text = attn_collapse(r, span);
  struct attn_item *item = text ? attn_reader_add(r, ATTN_ITEM_HEADING, span.begin) : NULL;
  if (!item) return ATTN_FAILED;
  item->text = text;
  item->level = level;
  return ATTN_YES;
}

struct attn_item *attn_reader_last_matrix(struct attn_reader *r, const char *key) {
  struct attn_document *d = r->document;
  for (int i = d->items - 1; i >= 0 && i >= d->items - 256; i--)
    if (d->item[i].kind == ATTN_ITEM_MATRIX && (!key || strcmp(d->item[i].key, key) == 0))
      return &d->item[i];
  return NULL;
}

struct attn_item *attn_add_matrix(struct attn_reader *r, const char *name, const char *formula,
                                  enum attn_item_link link, const attn_printing *table) {
  char *text = attn_pool_text(r->pool, name, strlen(name));
  char *said = attn_pool_text(r->pool, formula, strlen(formula));
  if (!text || !said) return attn_reader_no_memory(r), NULL;
  char *key = attn_name_key(r, text);
  struct attn_item *item = key ? attn_reader_add(r, ATTN_ITEM_MATRIX, 0) : NULL;
  if (!item) return NULL;
  item->line = table->line;
  item->column = table->column;
  item->text = text;
  item->key = key;
  item->formula = said;
  item->link = link;
  item->table = *table;
  return item;
}

int attn_add_number(struct attn_reader *r, const char *name, size_t offset, double value) {
  char *text = attn_pool_text(r->pool, name, strlen(name));
  char *key = text ? attn_name_key(r, text) : NULL;
  struct attn_item *item = key ? attn_reader_add(r, ATTN_ITEM_NUMBER, offset) : NULL;
  if (!item) return attn_reader_no_memory(r);
  item->text = text;
  item->key = key;
  item->value = value;
  return ATTN_YES;
}
