/* help_text.c -- help in Japanese. Its parts are translated one by one: the title, the descriptions
 * of the usage, paragraphs, the description of each option. Syntax, names of options and examples
 * are printed as they are. */
#include <string.h>

#include "console.h"

enum { COLUMNS = 92, HANGING = 22, NAME_GAP = 3 };

static const char usage[] = "usage: ", usage_ja[] = "使い方：", examples[] = "examples:";

static void print_spaces(int count, FILE *to) { fprintf(to, "%*s", count > 0 ? count : 0, ""); }

void attn_cli_print_wrapped(const char *english, int column, int indent, FILE *to) {
  char buffer[ATTN_CLI_MESSAGE_MAX];
  const attn_sink sink = attn_cli_sink(to);
  attn_text_write_wrapped(attn_cli_translate(english, buffer), column, indent, COLUMNS, &sink,
                          NULL);
}

/* ---- Parts ---- */

static int indentation(const char *line) { return (int)strspn(line, " "); }

/* Appends a line to a text, after a space; returns the next line. */
static const char *join(char *text, const char *line) {
  size_t length = strlen(text), bytes = strcspn(line, "\n");
  const char *next = line + bytes + (line[bytes] == '\n');
  line += indentation(line), bytes = strcspn(line, "\n");
  if (length + bytes + 2 > ATTN_CLI_MESSAGE_MAX) return next;
  if (length) text[length++] = ' ';
  memcpy(text + length, line, bytes), text[length + bytes] = 0;
  return next;
}

static const char *print_paragraph(const char *at, FILE *to) {
  char text[ATTN_CLI_MESSAGE_MAX] = "";
  do at = join(text, at);
  while (*at && *at != '\n' && *at != ' ' && strncmp(at, "exit status:", 12));
  attn_cli_print_wrapped(text, 0, 0, to);
  return at;
}

/* "attn check - what it does" */
static const char *print_title(const char *at, FILE *to) {
  char text[ATTN_CLI_MESSAGE_MAX] = "";
  while (*at && *at != '\n') at = join(text, at);
  char *dash = strstr(text, " - ");
  const int length = dash ? (int)(dash - text) + 3 : 0;
  fwrite(text, 1, (size_t)length, to);
  attn_cli_print_wrapped(text + length, length, 0, to);
  return at;
}

/* Length of "--name VALUE" at the start of a line, which two spaces or the end of the line end. */
static int name_length(const char *line) {
  int n = 0;
  while (line[n] && line[n] != '\n' && strncmp(line + n, "  ", 2)) n++;
  return n;
}

/* "name   description" at a column of the page; the description may continue on the next lines,
 * which are indented. The description begins in the column that it has in English. */
static const char *print_entry(const char *line, int column, FILE *to) {
  char text[ATTN_CLI_MESSAGE_MAX] = "";
  const int length = name_length(line), gap = indentation(line + length);
  const char *at = join(text, line + length);
  while (indentation(at) > NAME_GAP) at = join(text, at);
  fwrite(line, 1, (size_t)length, to);
  column += length;
  if (!*text) return fputc('\n', to), at;
  if (gap)
    print_spaces(gap, to), column += gap;
  else
    fputc('\n', to), print_spaces(column = HANGING, to);
  attn_cli_print_wrapped(text, column, column < HANGING ? column : HANGING, to);
  return at;
}

static const char *print_usage(const char *at, FILE *to) {
  const int width = (int)strlen(usage);
  for (int n = 0; *at && *at != '\n'; n++) {
    fputs(n ? "        " : usage_ja, to);
    char text[ATTN_CLI_MESSAGE_MAX] = "";
    const int length = name_length(at + width), gap = indentation(at + width + length);
    fwrite(at + width, 1, (size_t)(length + gap), to);
    at = join(text, at + width + length);
    attn_cli_print_wrapped(text, width + length + gap, 0, to);
  }
  return at;
}

static void print_examples(const char *at, FILE *to) {
  char buffer[ATTN_CLI_MESSAGE_MAX];
  fputs(attn_cli_translate(examples, buffer), to);
  fputs(at + strlen(examples), to);
}

void attn_cli_print_help(const char *english, FILE *to) {
  if (attn_cli_language() == ATTN_LANGUAGE_ENGLISH) return (void)fputs(english, to);
  const char *at = *english == '\n' ? english : print_title(english, to);
  while (*at) {
    if (!strncmp(at, examples, strlen(examples))) return print_examples(at, to);
    if (*at == '\n')
      fputc(*at++, to);
    else if (!strncmp(at, usage, strlen(usage)))
      at = print_usage(at, to);
    else if (*at == ' ')
      fputs("  ", to), at = print_entry(at + 2, 2, to);
    else
      at = print_paragraph(at, to);
  }
}
