#include "base64.h"

#include <string.h>

static void flush(struct attn_base64 *w) {
  attn_out_bytes(w->out, w->text, w->length);
  w->length = 0;
}

static void put_group(struct attn_base64 *w) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char *b = w->left;
  char *text = w->text + w->length;
  const char group[4] = {digits[b[0] >> 2], digits[(b[0] & 3) << 4 | b[1] >> 4],
                         digits[(b[1] & 15) << 2 | b[2] >> 6], digits[b[2] & 63]};
  memcpy(text, group, sizeof group);
  if (w->count < 3) text[3] = '=';
  if (w->count < 2) text[2] = '=';
  memset(w->left, 0, sizeof w->left), w->count = 0;
  w->length += sizeof group;
  if (w->length == sizeof w->text) flush(w);
}

int attn_base64_write(void *base64, const char *bytes, size_t count) {
  struct attn_base64 *w = base64;
  for (size_t n = 0; n < count; n++) {
    w->left[w->count++] = (unsigned char)bytes[n];
    if (w->count == 3) put_group(w);
  }
  return 0;
}

void attn_base64_end(struct attn_base64 *w) {
  if (w->count) put_group(w);
  flush(w);
}
