/* test_text.c -- characters, widths, numbers, the catalogue, flowing lines, untrusted text, JSON's
 * escapes. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* needs those above */
/* clang-format on */

#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "json_writer.h"
#include "number_text.h"
#include "text_writer.h"
#include "text_layout.h"
#include "utf8.h"

struct kept {
  char text[65536];
  size_t bytes;
};

static int keep(void *context, const char *text, size_t bytes) {
  struct kept *k = context;
  assert_true(k->bytes + bytes < sizeof k->text);
  memcpy(k->text + k->bytes, text, bytes);
  k->bytes += bytes;
  k->text[k->bytes] = 0;
  return 0;
}

/* ---- Characters ---- */

/* Every sequence of up to three bytes, and of four after each first two, is read as utf8proc reads
 * it, and never past its end. */
static void test_utf8_equals_utf8proc(void **state) {
  (void)state;
  static const unsigned char last[] = {0x00, 0x41, 0x7F, 0x80, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF};
  for (uint32_t n = 0; n < 1u << 24; n++) {
    unsigned char bytes[4] = {(unsigned char)(n >> 16), (unsigned char)(n >> 8), (unsigned char)n,
                              last[n % sizeof last]};
    for (size_t length = bytes[0] < 0xF0 ? 3 : 4; length > 0; length--) {
      utf8proc_int32_t right = 0;
      int32_t code = 0;
      utf8proc_ssize_t size = utf8proc_iterate(bytes, (utf8proc_ssize_t)length, &right);
      size_t got = attn_utf8_read((const char *)bytes, length, &code);
      if (got != (size_t)(size > 0 ? size : 0) || (got && code != right))
        fail_msg("%02x %02x %02x %02x of %zu: %zu bytes, U+%04X", bytes[0], bytes[1], bytes[2],
                 bytes[3], length, got, (unsigned)code);
      if (bytes[1] && bytes[2]) break; /* shorter ones are followed by zeros */
    }
  }
}

/* Controls, separators of lines and paragraphs, and Unicode's Bidi_Control are not displayable;
 * letters, marks, symbols and emoji joiners are. */
static void test_what_is_not_shown(void **state) {
  (void)state;
  for (int32_t code = 0; code < 0x110000; code++) {
    utf8proc_category_t kind = utf8proc_category(code);
    int isolate = code >= 0x2066 && code <= 0x2069;
    int hidden = kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_ZL ||
                 kind == UTF8PROC_CATEGORY_ZP || isolate || code == 0x061C || code == 0x200E ||
                 code == 0x200F || (code >= 0x202A && code <= 0x202E);
    if (hidden && attn_utf8_is_displayable(code)) fail_msg("U+%04X is shown", (unsigned)code);
    if (!attn_utf8_is_displayable(code) && kind != UTF8PROC_CATEGORY_CF && !hidden)
      fail_msg("U+%04X is not shown", (unsigned)code);
    if (code == 0x200D || code == 0xFE0F) assert_true(attn_utf8_is_displayable(code));
  }
}

static const char *plain(const char *text, size_t bytes) {
  static struct kept k;
  const attn_sink sink = {&k, keep};
  k.bytes = 0, k.text[0] = 0;
  assert_int_equal(attn_text_write_plain(text, bytes, &sink, NULL), ATTN_OK);
  return k.text;
}

static int refuse(void *context, const char *text, size_t bytes) {
  (void)text, (void)bytes;
  return --*(int *)context < 0;
}

static void test_text_of_others(void **state) {
  (void)state;
  static const char text[] = "a\033[2J\0\xC2\x9B私\xE2\x80\xAE\x9B\xE7\xA7z\n";
  assert_string_equal(plain(text, sizeof text - 1),
                      "a\uFFFD[2J\uFFFD\uFFFD私\uFFFD\uFFFD\uFFFD\uFFFDz\uFFFD");
  assert_string_equal(plain("", 0), "");
  for (int most = 0; most < 9; most++) {
    int left = most;
    const attn_sink sink = {&left, refuse};
    attn_error err;
    attn_status status = attn_text_write_json("a\033b\033", 4, &sink, &err);
    assert_int_equal(status, most < 6 ? ATTN_ERR_FILE : ATTN_OK);
    assert_true(left >= -1); /* a stopped sink is not called again */
  }
}

/* Every code point round-trips through JSON; unsafe ones are escaped. */
static void test_json_gives_every_character_back(void **state) {
  (void)state;
  static struct kept k;
  const attn_sink sink = {&k, keep};
  for (int32_t code = 1; code < 0x110000; code += code < 0x3000 ? 1 : 257) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    char text[8] = "x";
    text[1 + utf8proc_encode_char(code, (utf8proc_uint8_t *)text + 1)] = 0;
    k.bytes = 0;
    assert_int_equal(attn_text_write_json(text, strlen(text), &sink, NULL), ATTN_OK);
    json_t *read = json_loads(k.text, JSON_DECODE_ANY, NULL);
    assert_string_equal(json_string_value(read), text);
    json_decref(read);
    if (!attn_utf8_is_displayable(code)) assert_null(strstr(k.text, text + 1));
  }
}

static void test_the_nearest_name(void **state) {
  (void)state;
  static const char *const names[] = {"weights", "X", "scores", "Q"};
  assert_string_equal(attn_text_nearest("wieghts", names, 4), "weights");
  assert_string_equal(attn_text_nearest("WEIGHT", names, 4), "weights");
  assert_string_equal(attn_text_nearest("x", names, 4), "X");
  assert_string_equal(attn_text_nearest("scroe", names, 4), "scores"); /* a swap is one edit */
  assert_string_equal(attn_text_nearest("ewihgts", names, 4), "weights");
  assert_null(attn_text_nearest("A", names, 4));
  assert_null(attn_text_nearest("", names, 4));
  assert_null(attn_text_nearest("wxyzhts", names, 4));
}

/* ---- Widths ---- */

static void test_widths(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int width;
  } cases[] = {
      {"", 0},
      {"abc", 3},
      {"私", 2},
      {"学校へ", 6},
      {"ｶﾅ", 2},
      {"e\xCC\x81", 1}, /* e, accent */
      {"👍", 2},
      {"👍🏽", 2},
      {"👨‍👩‍👧", 2},
      {"❤️", 2},
      {"🇯🇵", 2},
      {"√2", 2},
      {"−1", 2},
      {"¹²", 2},
      {"か\xE3\x82\x99", 2}, /* a kana with its voicing mark apart */
      {"\xFF", 1},
      {"\xE7\xA7", 2},
      {"\x1B[31m", 5}, /* torn, and hostile: each byte shows */
  };
  for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
    if (attn_text_width(cases[n].text) != cases[n].width)
      fail_msg("%s is %d wide, not %d", cases[n].text, attn_text_width(cases[n].text),
               cases[n].width);
}

static void test_shortened(void **state) {
  (void)state;
  char to[64], tight[8];
  assert_string_equal(attn_text_shorten(to, sizeof to, "学校へ", 6), "学校へ");
  assert_string_equal(attn_text_shorten(to, sizeof to, "学校へ行く", 6), "学校…");
  assert_string_equal(attn_text_shorten(to, sizeof to, "abcdef", 4), "abc…");
  assert_string_equal(attn_text_shorten(to, sizeof to,
                                        "a\nb\x1B"
                                        "c\xFF",
                                        20),
                      "a\uFFFDb\uFFFDc\uFFFD");
  assert_string_equal(attn_text_shorten(to, sizeof to, "a\u202Eb", 20), "a\uFFFDb");
  attn_text_shorten(tight, sizeof tight, "学校へ行く", 60); /* bytes run out before columns do */
  assert_string_equal(tight, "学…");
}

/* ---- Numbers ---- */

static const struct {
  double value;
  int precision;
  const char *text;
} numbers[] = {{0, 4, "0"},
               {-0.0, 4, "0"},
               {2, 4, "2"},
               {-3, 4, "-3"},
               {0.5, 4, "0.5"},
               {0.25, 4, "0.25"},
               {0.333333333, 4, "0.3333"},
               {0.33300001, 4, "0.3330"},
               {0.1 + 0.2, 4, "0.3"},
               {1 - 1.5e-10, 4, "1.0000"},
               {1.4939e-10, 4, "1.5e-10"},
               {-1e-5, 4, "-1e-5"},
               {1e-4, 4, "0.0001"},
               {512, 4, "512"},
               {22.627417, 2, "22.63"},
               {0.7071, 0, "1"},
               {0.3, 0, "0"},
               {100, 0, "100"},
               {-0.3, 0, "0"},
               {1e15, 4, "1e15"},
               {-1.23456e20, 4, "-1.2346e20"},
               {1e300, 4, "1e300"},
               {0.123456789012, 12, "0.123456789012"},
               {1e9, 4, "1000000000"}};

static void test_numbers(void **state) {
  (void)state;
  char text[ATTN_NUMBER_BYTES];
  for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
    assert_string_equal(attn_number_text(numbers[n].value, numbers[n].precision, text),
                        numbers[n].text);
  assert_string_equal(attn_number_text(INFINITY, 4, text), "∞");
  assert_string_equal(attn_number_text(-INFINITY, 4, text), "-∞");
  assert_string_equal(attn_number_text(NAN, 4, text), "NaN");
  assert_string_equal(attn_number_fixed(-0.00001, 4, text), "0.0000");
  assert_string_equal(attn_number_fixed(2, 4, text), "2.0000");
  for (int p = 0; p <= 17; p++) { /* nothing overruns the text */
    assert_true(strlen(attn_number_text(-999999999999999.4, p, text)) < ATTN_NUMBER_BYTES - 1);
    assert_true(strlen(attn_number_text(-1.7976931348623157e308, p, text)) < ATTN_NUMBER_BYTES - 1);
  }
}

static void test_numbers_of_programs(void **state) {
  (void)state;
  char text[ATTN_NUMBER_BYTES];
  assert_string_equal(attn_number_json(INFINITY, text), "null");
  assert_string_equal(attn_number_json(NAN, text), "null");
  assert_string_equal(attn_number_json(-0.0, text), "0");
  assert_string_equal(attn_number_json(0.1, text), "0.10000000000000001");
}

static void test_numbers_in_a_locale_with_commas(void **state) {
  (void)state;
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
  const char *set = NULL;
  for (int n = 0; n < 4 && !set; n++) set = setlocale(LC_NUMERIC, names[n]);
  if (!set) skip();
  test_numbers(state);
  test_numbers_of_programs(state);
  setlocale(LC_NUMERIC, "C");
}

/* ---- Catalogue ---- */

static unsigned holes(const char *text) {
  unsigned set = 0;
  for (; (text = strchr(text, '{')); text++) {
    assert_true(text[1] >= '0' && text[1] <= '9' && text[2] == '}');
    set |= 1u << (text[1] - '0');
  }
  return set;
}

static void test_catalogue(void **state) {
  (void)state;
  for (int n = 0; n < MESSAGE_COUNT; n++) {
    const char *en = attn_message_text(n, ATTN_LANGUAGE_ENGLISH);
    const char *ja = attn_message_text(n, ATTN_LANGUAGE_JAPANESE);
    if (!strcmp(en, "?") || !strcmp(ja, "?") || !*en || !*ja) fail_msg("message %d has no text", n);
    if (holes(en) != holes(ja)) fail_msg("message %d: %s <> %s", n, en, ja);
    for (const char *at = en; *at; at++) /* kana and ideographs begin with these bytes */
      if ((unsigned char)*at >= 0xE3) fail_msg("Japanese in: %s", en);
  }
  assert_string_equal(attn_message_text(-1, 0), "?");
  assert_string_equal(attn_message_text(MESSAGE_COUNT, 0), "?");
}

/* ---- Lines ---- */

static void begin(struct attn_out *out, struct kept *k, attn_sink *sink, int width, int language) {
  const attn_style style = {sizeof style, language, 0, width, 0};
  *sink = (attn_sink){k, keep};
  k->bytes = 0;
  attn_out_begin(out, &style, sink);
}

static int widest_line(const char *text) {
  char line[4096];
  int widest = 0;
  for (size_t n; *text; text += n + (text[n] == '\n')) {
    n = strcspn(text, "\n");
    assert_true(n < sizeof line);
    memcpy(line, text, n);
    line[n] = 0;
    if (attn_text_width(line) > widest) widest = attn_text_width(line);
  }
  return widest;
}

static void test_lines_fit(void **state) {
  (void)state;
  struct attn_out out;
  static struct kept k;
  attn_sink sink;
  for (int language = 0; language < 2; language++)
    for (int width = 30; width <= 90; width += 7) {
      begin(&out, &k, &sink, width, language);
      for (int n = 0; n < MESSAGE_COUNT; n++) {
        attn_out_line(&out, 3);
        attn_out_message(&out, n, "weights[は,私]", "0.3333", "2", NULL);
      }
      attn_out_line(&out, 0);
      assert_true(widest_line(k.text) <= width);
      assert_true(widest_line(k.text) > width / 2);
    }
}

static void test_flow(void **state) {
  (void)state;
  struct attn_out out;
  static struct kept k;
  attn_sink sink;
  begin(&out, &k, &sink, 12, 0);
  attn_out_flow(&out, "one two three four");
  attn_out_line(&out, 2);
  attn_out_flow(&out, "これは長い文です。");
  attn_out_whole(&out, "分けない名前");
  attn_out_flow(&out, "、次");
  attn_out_line(&out, 0);
  assert_string_equal(k.text,
                      "one two\nthree four\n  これは長い\n  文です。\n  分けない名前、\n  次\n");
}

static const char *wrapped(const char *text, int column, int indent, int width) {
  static struct kept k;
  const attn_sink sink = {&k, keep};
  k.bytes = 0, k.text[0] = 0;
  assert_int_equal(attn_text_write_wrapped(text, column, indent, width, &sink, NULL), ATTN_OK);
  return k.text;
}

/* Not within a word of katakana, nor before the last characters; always after a full stop. */
static void test_wrapped(void **state) {
  (void)state;
  assert_string_equal(wrapped("one two  three", 6, 2, 12), "one\n  two three\n");
  assert_string_equal(wrapped("重みのアテンションの図を描きます", 0, 0, 14),
                      "重みの\nアテンションの\n図を描きます\n");
  assert_string_equal(wrapped("行列の積を計算します。", 0, 0, 20), "行列の積を\n計算します。\n");
  assert_string_equal(wrapped("終わり。--help を見る", 0, 0, 12), "終わり。\n--help\nを見る\n");
  assert_string_equal(wrapped("", 0, 4, 12), "\n");
  assert_string_equal(wrapped("a\033[2J", 0, 0, 12), "a\uFFFD[2J\n");
  int left = 0;
  const attn_sink sink = {&left, refuse};
  assert_int_equal(attn_text_write_wrapped("a", 0, 0, 12, &sink, NULL), ATTN_ERR_FILE);
}

static void test_say(void **state) {
  (void)state;
  struct attn_out out;
  static struct kept k;
  attn_sink sink;
  begin(&out, &k, &sink, 200, ATTN_LANGUAGE_JAPANESE);
  attn_out_message(&out, MESSAGE_COUNT_OF, "3", "8",
                   NULL); /* the other way round than in English */
  attn_out_line(&out, 0);
  assert_string_equal(k.text, "（8 個中 3 個）\n");
  begin(&out, &k, &sink, 200, ATTN_LANGUAGE_ENGLISH);
  attn_out_message(&out, MESSAGE_FIRST_HERE, "{0}%s", NULL);
  attn_out_message(&out, MESSAGE_COUNT_OF, "%n{1}", "\x1B[2J", NULL); /* hostile names stay text */
  attn_out_line(&out, 0);
  assert_string_equal(k.text, "← first wrong step (%n{1} of \uFFFD[2J values)\n");
}

/* ---- JSON ---- */

static void test_json(void **state) {
  (void)state;
  static struct kept k;
  const attn_sink sink = {&k, keep};
  struct attn_json json;
  char controls[160];
  for (int n = 1; n < 0x80; n++) controls[n - 1] = (char)n;
  controls[0x7F] = 0;
  attn_json_begin(&json, &sink);
  attn_json_open(&json, NULL, '{');
  attn_json_string(&json, "controls", controls);
  attn_json_string(&json, "torn", "a\xE7\xA7z\xC0\x80\xED\xA0\x80\xFF");
  attn_json_string(&json, "good", "私👍\u2028\xC2\x85");
  attn_json_string(&json, "none", NULL);
  attn_json_open(&json, "numbers", '[');
  attn_json_number(&json, NULL, 0.1);
  attn_json_number(&json, NULL, -INFINITY);
  attn_json_integer(&json, NULL, INT64_MIN);
  attn_json_open(&json, NULL, '[');
  attn_json_close(&json, ']');
  attn_json_close(&json, ']');
  attn_json_close(&json, '}');
  json_error_t error;
  json_t *read = json_loads(k.text, 0, &error);
  if (!read) fail_msg("%s in %s", error.text, k.text);
  assert_string_equal(json_string_value(json_object_get(read, "controls")), controls);
  assert_non_null(strstr(json_string_value(json_object_get(read, "torn")), "z\uFFFD"));
  assert_string_equal(json_string_value(json_object_get(read, "good")), "私👍\u2028\xC2\x85");
  json_t *list = json_object_get(read, "numbers");
  assert_true(json_number_value(json_array_get(list, 0)) == 0.1);
  assert_true(json_is_null(json_array_get(list, 1)));
  assert_true(json_integer_value(json_array_get(list, 2)) == INT64_MIN);
  json_decref(read);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_utf8_equals_utf8proc),
      cmocka_unit_test(test_what_is_not_shown),
      cmocka_unit_test(test_text_of_others),
      cmocka_unit_test(test_json_gives_every_character_back),
      cmocka_unit_test(test_the_nearest_name),
      cmocka_unit_test(test_widths),
      cmocka_unit_test(test_shortened),
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_numbers_of_programs),
      cmocka_unit_test(test_numbers_in_a_locale_with_commas),
      cmocka_unit_test(test_catalogue),
      cmocka_unit_test(test_lines_fit),
      cmocka_unit_test(test_flow),
      cmocka_unit_test(test_wrapped),
      cmocka_unit_test(test_say),
      cmocka_unit_test(test_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
