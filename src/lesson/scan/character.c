/* character.c -- one character: the plain one that a typographic variant is read as. */
#include <stdlib.h>
#include <string.h>

#include "text.h"

struct variant {
  uint32_t code;
  const char *plain;
};

/* Sorted by code point. */
static const struct variant variants[] = {
    {'\r', " "},        {0x0085, " "},      {0x00A0, " "},   {0x00B4, "'"},
    {0x00BC, "1/4"},    {0x00BD, "1/2"},    {0x00BE, "3/4"}, {0x02C6, "^"},
    {0x1D37, "K"},      {0x1D40, "T"},      {0x1D60, "Q"},   {0x1D62, "i"},
    {0x1D65, "v"},      {0x2010, "-"},      {0x2011, "-"},   {0x2012, "-"},
    {0x2013, "-"},      {0x2014, "-"},      {0x2015, "-"},   {0x2019, "'"},
    {0x2022, "*"},      {0x2028, " "},      {0x2029, " "},   {0x202F, " "},
    {0x205F, " "},      {0x207B, "-"},      {0x208B, "-"},   {0x2153, "1/3"},
    {0x2154, "2/3"},    {0x21D2, "\u2192"}, {0x2212, "-"},   {0x2219, "\u00B7"},
    {0x2243, "="},      {0x2245, "="},      {0x2248, "="},   {0x2252, "="},
    {0x22A4, "T"},      {0x22C5, "\u00B7"}, {0x2502, "|"},   {0x2503, "|"},
    {0x2551, "|"},      {0x25A3, "\u25A0"}, /* a mark of ours */
    {0x27A1, "\u2192"}, {0x27E8, "["},      {0x27E9, "]"},   {0x27F6, "\u2192"},
    {0x2C7C, "j"},      {0x2C7D, "V"},      {0x3000, " "},   {0x3001, ","},
    {0x3008, "["},      {0x3009, "]"},      {0x3010, "\n"},  {0x3011, ":"},
    {0x30FB, "\u00B7"}, {0xFE0E, ""},       {0xFE0F, ""},    {0xFE63, "-"},
    {0xFEFF, " "},
};

static int compare_variant(const void *key, const void *item) {
  uint32_t c = *(const uint32_t *)key, code = ((const struct variant *)item)->code;
  return c < code ? -1 : c > code;
}

const char *attn_plain_character(uint32_t c, char *buffer) {
  if (c < 0x80 && c != '\r') return NULL;
  buffer[1] = 0;
  if (c >= 0xFF01 && c <= 0xFF5D) return buffer[0] = (char)(c - 0xFEE0), buffer; /* full-width */
  if (c >= 0x2080 && c <= 0x2089) return buffer[0] = (char)('0' + c - 0x2080), buffer;
  if (c >= 0x2090 && c <= 0x209C && c != 0x2094)
    return buffer[0] = '_', buffer[1] = "aeox hklmnpst"[c - 0x2090], buffer[2] = 0, buffer;
  if (c >= 0x2000 && c <= 0x200B) return " ";
  const struct variant *v =
      bsearch(&c, variants, sizeof variants / sizeof *variants, sizeof *variants, compare_variant);
  return v ? v->plain : NULL;
}

char attn_superscript(uint32_t c) {
  static const char signs[] =
      "0\0\0\0"
      "456789+-=()";
  if (c == 0xB9) return '1';
  if (c == 0xB2 || c == 0xB3) return c == 0xB2 ? '2' : '3';
  return c >= 0x2070 && c <= 0x207B ? signs[c - 0x2070] : 0;
}

size_t attn_scan_put_character(uint32_t c, char *out) {
  if (c < 0x80) return out[0] = (char)c, 1;
  size_t bytes = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t n = bytes - 1; n > 0; n--, c >>= 6) out[n] = (char)(0x80 | (c & 0x3F));
  out[0] = (char)(0xF0u << (4 - bytes) | c);
  return bytes;
}

enum { ENTITY_BYTES_MAX = 11 };

struct entity {
  char name[10];
  uint32_t code;
};

/* Those that tables of numbers and formulas have; a tag does not begin with lt. */
static const struct entity entities[] = {
    {"alpha", 0x3B1},  {"amp", '&'},       {"apos", '\''},    {"asymp", 0x2248},  {"divide", 0xF7},
    {"emsp", 0x2003},  {"ensp", 0x2002},   {"gt", '>'},       {"hellip", 0x2026}, {"infin", 0x221E},
    {"ldquo", 0x201C}, {"lsquo", 0x2018},  {"lt", 0x2039},    {"mdash", 0x2014},  {"middot", 0xB7},
    {"minus", 0x2212}, {"nbsp", 0xA0},     {"ndash", 0x2013}, {"quot", '"'},      {"radic", 0x221A},
    {"rarr", 0x2192},  {"rdquo", 0x201D},  {"rsquo", 0x2019}, {"sdot", 0x22C5},   {"sum", 0x2211},
    {"tau", 0x3C4},    {"thinsp", 0x2009}, {"times", 0xD7},   {"top", 0x22A4},
};

/* &#8722; &#x2212; */
static uint32_t numeric_entity(const char *digits, size_t count) {
  uint32_t c = 0, base = count && (digits[0] | 32) == 'x' ? 16 : 10;
  for (size_t n = base == 16; n < count; n++) {
    char d = digits[n];
    uint32_t value = d >= '0' && d <= '9'                 ? (uint32_t)(d - '0')
                     : (d | 32) >= 'a' && (d | 32) <= 'f' ? (uint32_t)((d | 32) - 'a' + 10)
                                                          : 99;
    if (value >= base) return 0;
    c = c * base + value;
    if (c > 0x10FFFF) return 0;
  }
  if (c >= 0xD800 && c <= 0xDFFF) return 0;
  return c < 0x20 && c != '\t' && c != '\n' ? 0 : c;
}

uint32_t attn_entity(const char *text, size_t bytes, size_t *length) {
  const char *end = memchr(text, ';', bytes < ENTITY_BYTES_MAX ? bytes : ENTITY_BYTES_MAX);
  size_t name = end ? (size_t)(end - text) - 1 : 0;
  *length = name + 2;
  if (name < 2) return 0;
  if (text[1] == '#') return numeric_entity(text + 2, name - 1);
  for (size_t n = 0; n < sizeof entities / sizeof *entities; n++)
    if (strlen(entities[n].name) == name && memcmp(text + 1, entities[n].name, name) == 0)
      return entities[n].code;
  return 0;
}
