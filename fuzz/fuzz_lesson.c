/* fuzz_lesson.c -- any text is a lesson that is checked, explained and drawn, or an error with a
 * location; without a crash, a leak or a hang. */
#include "attn/picture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int drop(void *context, const char *text, size_t bytes) {
  *(size_t *)context += bytes + (size_t)(unsigned char)text[0];
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  /* The extension chooses notations, and reports have two languages. */
  static const char *const FILES[] = {"fuzz.md", "fuzz.tex", "fuzz.m", "fuzz.typ", "fuzz.ipynb"};
  const char *file = FILES[size % (sizeof FILES / sizeof *FILES)];
  const attn_style style = {.struct_size = sizeof style, .language = (int32_t)(size / 5 % 2)};
  attn_lesson *lesson;
  attn_check *check = NULL;
  attn_error err;
  size_t total = 0;
  const attn_sink sink = {&total, drop};
  if (attn_lesson_read((const char *)data, size, file, &lesson, &err)) return 0;
  if (attn_lesson_check(lesson, &check, &err) == ATTN_OK) {
    attn_check_print(lesson, check, &style, &sink, &err);
    attn_check_print_reading(lesson, check, &style, &sink, &err);
    attn_check_print_json(file, lesson, check, NULL, &sink, &err);
    attn_check_draw(lesson, check, (const char *)data, size, NULL, &sink, &err);
    const attn_check_entry entry = {.file = file, .lesson = lesson, .check = check};
    attn_check_draw_index(&entry, 1, &style, &sink, &err);
  }
  attn_lesson_explain(lesson, &style, &sink, &err);
  attn_lesson_explain_json(lesson, &sink, &err);
  attn_lesson_explain_cell(lesson, "weights[0,0]", NULL, &sink, &err);
  attn_lesson *gradients;
  if (attn_lesson_gradients(lesson, NULL, &gradients, &err) == ATTN_OK) {
    attn_lesson_explain(gradients, &style, &sink, &err);
    attn_lesson_explain_cell(gradients, "d_q[0,0]", NULL, &sink, &err);
    attn_lesson_free(gradients);
  }
  attn_lesson_draw(lesson, ATTN_PICTURE_HTML, NULL, &sink, &err);
  if (size < 512 && size % 16 == 0)
    attn_lesson_draw(lesson, ATTN_PICTURE_PNG, NULL, &sink, &err); /* slower */
  attn_check_free(check);
  attn_lesson_free(lesson);
  return 0;
}
