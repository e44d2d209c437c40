#include "utf8.h"

/* Table 3-7 of the Unicode Standard: the length of a sequence by its first byte, and the range of
 * its second byte that excludes overlong forms, surrogates and code points beyond U+10FFFF. */
static size_t length_of(unsigned char first, unsigned char *min, unsigned char *max) {
  *min = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  *max = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

size_t attn_utf8_read(const char *text, size_t length, int32_t *code) {
  const unsigned char *c = (const unsigned char *)text;
  unsigned char min, max;
  size_t bytes = length ? length_of(*c, &min, &max) : 0;
  if (!bytes || bytes > length) return 0;
  if (bytes > 1 && (c[1] < min || c[1] > max)) return 0;
  *code = bytes == 1 ? *c : *c & (0x7F >> bytes);
  for (size_t n = 1; n < bytes; n++) {
    if ((c[n] & 0xC0) != 0x80) return 0;
    *code = *code << 6 | (c[n] & 0x3F);
  }
  return bytes;
}

int attn_utf8_is_valid(const char *text, size_t length) {
  int32_t code;
  for (size_t at = 0, bytes; at < length; at += bytes)
    if (!(bytes = attn_utf8_read(text + at, length - at, &code))) return 0;
  return 1;
}

int attn_utf8_is_displayable(int32_t code) {
  static const int32_t hidden[][2] = {{0x00, 0x1F},     {0x7F, 0x9F},     /* controls */
                                      {0x061C, 0x061C}, {0x200E, 0x200F}, /* direction: marks */
                                      {0x2028, 0x202E}, /* line, paragraph; embeddings, overrides */
                                      {0x2066, 0x206F}, /* isolates, deprecated format characters */
                                      {0xFFF9, 0xFFFB}}; /* interlinear annotations */
  for (size_t n = 0; n < sizeof hidden / sizeof *hidden; n++)
    if (code >= hidden[n][0] && code <= hidden[n][1]) return 0;
  return 1;
}

size_t attn_utf8_read_displayable(const char *text, size_t length, int32_t *code) {
  size_t bytes = attn_utf8_read(text, length, code);
  if (!bytes || !attn_utf8_is_displayable(*code)) *code = ATTN_UTF8_REPLACEMENT;
  return bytes || !length ? bytes : 1;
}
