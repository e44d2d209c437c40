/* dump.c -- a document's items, one a line, for tests and for people. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "document.h"

static void put(const attn_sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(const attn_sink *sink, const char *format, ...) {
  char buffer[128];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  if (length > (int)sizeof buffer - 1) length = (int)sizeof buffer - 1;
  if (length > 0) sink->write(sink->context, buffer, (size_t)length);
}

static void put_text(const attn_sink *sink, const char *text) {
  if (text && *text) sink->write(sink->context, text, strlen(text));
}

/* 0.50 as printed; ~0.7 worked out, with its interval where it has one; =0.33 exact; ? blank. */
static void put_cell(const attn_sink *sink, const attn_cell *cell) {
  if (cell->kind == ATTN_CELL_BLANK)
    put(sink, "?");
  else if (cell->kind == ATTN_CELL_NUMBER)
    put(sink, "%.*f", cell->decimals > 30 ? 30 : cell->decimals, cell->value);
  else if (cell->kind == ATTN_CELL_EXACT)
    put(sink, isinf(cell->value) ? "%.6g" : "=%.6g", cell->value);
  else if (cell->lo == cell->hi)
    put(sink, "~%.6g", cell->value);
  else
    put(sink, "~%.6g(%.6g..%.6g)", cell->value, cell->lo, cell->hi);
}

static void put_table(const attn_sink *sink, const attn_printing *t) {
  put(sink, "%dx%d [", t->rows, t->cols);
  for (int i = 0; i < t->rows; i++)
    for (int j = 0; j < t->cols; j++) {
      put(sink, "%s", j ? " " : i ? "; " : "");
      put_cell(sink, &t->cells[(size_t)i * (size_t)t->cols + (size_t)j]);
    }
  put(sink, "]");
}

static void put_labels(const attn_sink *sink, const char *what, int count, char **label) {
  if (!count) return;
  put(sink, " %s", what);
  for (int i = 0; i < count; i++) {
    put(sink, i ? "|" : "(");
    put_text(sink, label[i] ? label[i] : "-");
  }
  put(sink, ")");
}

static void put_matrix(const attn_sink *sink, const struct attn_item *item) {
  static const char *const LINKS[] = {"", "= ", "* "};
  put(sink, "%s", LINKS[item->link]);
  put_text(sink, item->text);
  if (item->formula && *item->formula) {
    put(sink, " {");
    put_text(sink, item->formula);
    put(sink, "}");
  }
  put(sink, " ");
  put_table(sink, &item->table);
  put_labels(sink, "rows", item->row_labels, item->row_label);
  put_labels(sink, "columns", item->column_labels, item->column_label);
}

static void put_expression(const attn_sink *sink, const struct attn_expr *e);

static void put_call(const attn_sink *sink, const struct attn_expr *e) {
  put_text(sink, e->text);
  put(sink, "(");
  for (int i = 0; i < e->arguments; i++) {
    put(sink, "%s", i ? ", " : "");
    put_expression(sink, e->argument[i]);
  }
  for (int i = 0; i < e->keywords; i++) {
    put(sink, "%s", i || e->arguments ? ", " : "");
    put_text(sink, e->keyword[i]);
    put(sink, "=");
    put_expression(sink, e->keyword_value[i]);
  }
  put(sink, ")");
}

static void put_expression(const attn_sink *sink, const struct attn_expr *e) {
  switch (e->kind) {
    case ATTN_EXPR_NAME:
      put_text(sink, e->text);
      break;
    case ATTN_EXPR_NUMBER:
      put(sink, "%.9g", e->number);
      break;
    case ATTN_EXPR_ARRAY:
      put_table(sink, &e->table);
      break;
    case ATTN_EXPR_CALL:
      put_call(sink, e);
      break;
    case ATTN_EXPR_BINARY:
      put(sink, "(");
      put_expression(sink, e->argument[0]);
      put(sink, " %s ", e->text);
      put_expression(sink, e->argument[1]);
      put(sink, ")");
      break;
    case ATTN_EXPR_NEGATE:
      put(sink, "-");
      put_expression(sink, e->argument[0]);
      break;
    case ATTN_EXPR_TRANSPOSE:
      put_expression(sink, e->argument[0]);
      put(sink, ".T");
      break;
  }
}

static void put_assignment(const attn_sink *sink, const struct attn_item *item) {
  put_text(sink, item->text);
  put(sink, " = ");
  put_expression(sink, item->expression);
  if (!item->has_result) return;
  put(sink, " -> ");
  put_table(sink, &item->result);
}

static void put_item(const attn_sink *sink, const struct attn_item *item) {
  static const char *const KINDS[] = {"heading", "sentence", "matrix",
                                      "number",  "tokens",   "assign"};
  put(sink, "%d:%d %s ", item->line, item->column, KINDS[item->kind]);
  switch (item->kind) {
    case ATTN_ITEM_HEADING:
      put(sink, "%d ", item->level);
      put_text(sink, item->text);
      break;
    case ATTN_ITEM_SENTENCE:
      put_text(sink, item->text);
      break;
    case ATTN_ITEM_MATRIX:
      put_matrix(sink, item);
      break;
    case ATTN_ITEM_NUMBER:
      put_text(sink, item->text);
      put(sink, " = %.9g", item->value);
      break;
    case ATTN_ITEM_TOKENS:
      for (int i = 0; i < item->tokens; i++) {
        put(sink, "%s", i ? " " : "");
        put_text(sink, item->token[i]);
      }
      break;
    case ATTN_ITEM_ASSIGN:
      put_assignment(sink, item);
      break;
  }
  put(sink, "\n");
}

void attn_document_dump(const struct attn_document *document, const attn_sink *sink) {
  for (int i = 0; i < document->items; i++) put_item(sink, &document->item[i]);
}
