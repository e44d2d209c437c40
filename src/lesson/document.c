/* document.c -- reads a document: text in, items out. */
#include "document.h"

#include "error.h"
#include "reader.h"

static attn_status read_document(struct attn_reader *r, const char *text, size_t size) {
  attn_status status = attn_source_open(&r->source, text, size, r->pool, r->err);
  if (status != ATTN_OK) return status;
  r->no_display_end = SIZE_MAX;
  r->lookahead = r->source.size * 4 + 4096;
  r->document->japanese = attn_source_is_japanese(&r->source);
  return attn_read_lines(r, 0, r->source.size) == ATTN_FAILED ? r->status : ATTN_OK;
}

attn_status attn_document_read(const char *text, size_t size, struct attn_document **document,
                               attn_error *err) {
  *document = NULL;
  struct attn_pool *pool = attn_pool_new();
  struct attn_document *d = pool ? attn_pool_take(pool, sizeof *d) : NULL;
  if (!d) {
    attn_pool_free(pool);
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the document");
  }
  d->memory = pool;
  struct attn_reader reader = {.pool = pool, .document = d, .err = err};
  attn_status status = read_document(&reader, text, size);
  if (status == ATTN_OK)
    *document = d;
  else
    attn_pool_free(pool);
  return status;
}

void attn_document_free(struct attn_document *document) {
  if (document) attn_pool_free(document->memory);
}
