/* document.c -- reads a document: text in, items out. */
#include "document.h"

#include "error.h"
#include "reader.h"

/* Mostly Japanese: kana and kanji are at least a tenth of the letters. */
static int is_japanese(const struct attn_source *s) {
  size_t japanese = 0, letters = 0, next;
  for (size_t at = 0; at < s->size; at = next) {
    uint32_t c = attn_code_point(s->text, at, s->size, &next);
    japanese += (c >= 0x3041 && c <= 0x30FF) || (c >= 0x4E00 && c <= 0x9FFF);
    letters += c > 127 || (c | 32) - 'a' < 26;
  }
  return japanese > 0 && japanese * 10 >= letters;
}

static attn_status read_document(struct attn_reader *r, const char *text, size_t size) {
  attn_status status = attn_source_open(&r->source, text, size, r->pool, r->err);
  if (status != ATTN_OK) return status;
  r->no_display_end = SIZE_MAX;
  r->lookahead = r->source.size * 4 + 4096;
  r->document->japanese = is_japanese(&r->source);
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
