#include "number_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The program's locale may write 0,5. */
static void put_point(char *text) {
  char *to = text;
  int replaced = 0;
  for (const char *at = text; *at; at++) {
    if (strchr("0123456789+-e", *at))
      *to++ = *at;
    else if (!replaced++)
      *to++ = '.';
  }
  *to = 0;
}

static void drop_zeros(char *text) {
  char *end = text + strlen(text);
  if (!strchr(text, '.')) return;
  while (end[-1] == '0') end--;
  if (end[-1] == '.') end--;
  *end = 0;
}

/* 1.5e-10 and 1.5e10, not 1.5e-010 and 1.5e+10. */
static void scientific(double value, int digits, char *text) {
  snprintf(text, ATTN_NUMBER_BYTES, "%.*e", digits, value);
  put_point(text);
  char *e = strchr(text, 'e');
  int exponent = 0;
  if (!e || sscanf(e + 1, "%d", &exponent) != 1) return;
  *e = 0;
  drop_zeros(text);
  size_t n = strlen(text);
  snprintf(text + n, ATTN_NUMBER_BYTES - n, "e%d", exponent);
}

/* Whether that many digits represent the value, up to the last bits of a double. */
static int exactly(double value, int digits) {
  double scaled = value * pow(10, digits), near = round(scaled);
  return fabs(scaled) < 1e15 && fabs(scaled - near) <= 1.6e-15 * fabs(scaled);
}

const char *attn_number_text(double value, int precision, char text[ATTN_NUMBER_BYTES]) {
  double size = fabs(value);
  if (isnan(value))
    strcpy(text, "NaN");
  else if (isinf(value))
    strcpy(text, value < 0 ? "-∞" : "∞");
  else if (value == 0)
    strcpy(text, "0");
  else if (size >= 1e15)
    scientific(value, precision, text);
  else if (precision > 0 && size < 0.5 * pow(10, -precision))
    scientific(value, precision < 2 ? precision : 1, text);
  else {
    snprintf(text, ATTN_NUMBER_BYTES, "%.*f", precision, value);
    put_point(text);
    if (exactly(value, precision)) drop_zeros(text);
    if (!strcmp(text, "-0")) strcpy(text, "0");
  }
  return text;
}

const char *attn_number_fixed(double value, int digits, char text[ATTN_NUMBER_BYTES]) {
  snprintf(text, ATTN_NUMBER_BYTES, "%.*f", digits, value);
  put_point(text);
  if (*text == '-' && !strpbrk(text, "123456789")) memmove(text, text + 1, strlen(text));
  return text;
}

const char *attn_number_json(double value, char text[ATTN_NUMBER_BYTES]) {
  if (!isfinite(value)) return strcpy(text, "null");
  snprintf(text, ATTN_NUMBER_BYTES, "%.17g", value == 0 ? 0 : value);
  put_point(text);
  return text;
}

const char *attn_integer_text(int64_t value, char text[ATTN_NUMBER_BYTES]) {
  snprintf(text, ATTN_NUMBER_BYTES, "%lld", (long long)value);
  return text;
}
