/* Any text: items or a typed error with a place, never a crash, a leak or a hang. */
#include "document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct attn_document *document;
  attn_error err;
  if (attn_document_read((const char *)data, size, &document, &err) == ATTN_OK)
    attn_document_free(document);
  return 0;
}
