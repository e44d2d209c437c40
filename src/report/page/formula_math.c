/* formula_math.c -- a formula of a lesson as MathML: names with their sub- and superscripts. */
#include <ctype.h>
#include <string.h>

#include "canvas.h"
#include "lesson_page.h"

static void put_element(struct attn_out *out, const char *tag, const char *text, size_t bytes) {
  char copy[ATTN_FORMULA_BYTES];
  if (bytes >= sizeof copy) bytes = sizeof copy - 1;
  memcpy(copy, text, bytes), copy[bytes] = 0;
  attn_putf(out, "<%s>", tag), attn_xml_text(out, copy), attn_putf(out, "</%s>", tag);
}

/* Of a name: letters and digits of any script. √ and × are operators. */
static int in_name(const char *at) {
  unsigned char c = (unsigned char)*at;
  return isalnum(c) || c == '.' || c == '\'' ||
         (c >= 0x80 && strncmp(at, "√", strlen("√")) && strncmp(at, "×", strlen("×")));
}

static size_t name_bytes(const char *at) {
  size_t n = 0;
  while (in_name(at + n)) n++;
  return n;
}

static void put_name(struct attn_out *out, const char *at, size_t bytes) {
  put_element(out, isdigit((unsigned char)*at) ? "mn" : "mi", at, bytes);
}

/* "Q", or "Q_1" as Q,1. Returns what follows. */
static const char *put_script(struct attn_out *out, const char *at) {
  size_t bytes = name_bytes(at);
  attn_put(out, "<mrow>");
  put_name(out, at, bytes);
  for (at += bytes; *at == '_' && (bytes = name_bytes(at + 1)); at += 1 + bytes) {
    attn_put(out, "<mo>,</mo>");
    put_name(out, at + 1, bytes);
  }
  attn_put(out, "</mrow>");
  return at;
}

/* Returns what follows the name and its sub- or superscript. */
static const char *put_scripted(struct attn_out *out, const char *at) {
  const size_t base = name_bytes(at);
  const char mark = at[base];
  const int braced = (mark == '_' || mark == '^') && at[base + 1] == '{';
  const char *script = at + base + 1 + braced;
  if ((mark != '_' && mark != '^') || !name_bytes(script))
    return put_name(out, at, base), at + base;
  const char *element = mark == '_' ? "msub" : "msup";
  attn_putf(out, "<%s>", element);
  put_name(out, at, base);
  script = put_script(out, script);
  attn_putf(out, "</%s>", element);
  return script + (braced && *script == '}');
}

static const char *put_token(struct attn_out *out, const char *at) {
  if (in_name(at)) return put_scripted(out, at);
  if (!strncmp(at, "√", strlen("√")) && in_name(at + strlen("√"))) {
    attn_put(out, "<msqrt>");
    at = put_scripted(out, at + strlen("√"));
    attn_put(out, "</msqrt>");
    return at;
  }
  size_t bytes = (unsigned char)*at >= 0x80 ? strlen("×") : 1;
  while (((unsigned char)at[bytes] & 0xc0) == 0x80) bytes++;
  if (*at == '(' || *at == ')')
    attn_putf(out, "<mo stretchy=\"false\">%c</mo>", *at);
  else
    put_element(out, "mo", at, bytes);
  return at + bytes;
}

void attn_put_math(struct attn_out *out, const char *formula) {
  attn_put(out, "<math><mrow>");
  for (const char *at = formula; *at;)
    if (*at == ' ') {
      attn_put(out, "<mtext>\u00a0</mtext>"); /* a space in the text, too */
      at++;
    } else {
      at = put_token(out, at);
    }
  attn_put(out, "</mrow></math>");
}
