/* language.h -- the language of help and messages, and the Japanese of English texts (po/ja.po). */
#ifndef ATTN_CLI_LANGUAGE_H
#define ATTN_CLI_LANGUAGE_H

#include <stdio.h>

#include "attn/lesson.h"

extern const char *const attn_cli_languages[2];

/* Called first: the language is --lang of argv, else that of LC_ALL, LC_MESSAGES or LANG. Before
 * the first call it is English. */
void attn_cli_set_language(int argc, char **argv);
attn_language attn_cli_language(void);

enum { ATTN_CLI_MESSAGE_MAX = 2048 };

/* Returns english's translation, written to `to` (ATTN_CLI_MESSAGE_MAX bytes): that of the entry of
 * po/ja.po whose msgid is the text, or a format that can have produced it. The values that the
 * format has printed are copied; one that is %S in msgstr is translated itself. A text without an
 * entry, or whose translation is empty or too long, is returned as it is. */
const char *attn_cli_japanese_of(const char *english, char *to);

/* The same in the chosen language: in English, english itself. */
const char *attn_cli_translate(const char *english, char *to);

/* Writes the translation of a text in lines of at most 92 columns: the first one continues at a
 * column, the others are indented. */
void attn_cli_print_wrapped(const char *english, int column, int indent, FILE *to);

/* Prints a help text, in Japanese with each part translated and wrapped (help_text.c). */
void attn_cli_print_help(const char *english, FILE *to);

#endif
