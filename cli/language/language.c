#include "language.h"

#include <stdlib.h>
#include <string.h>

const char *const attn_cli_languages[2] = {"en", "ja"};

static attn_language chosen = ATTN_LANGUAGE_ENGLISH;

attn_language attn_cli_language(void) { return chosen; }

static const char *language_option(int argc, char **argv) {
  const char *found = NULL;
  for (int n = 1; n < argc && strcmp(argv[n], "--"); n++) {
    if (!strncmp(argv[n], "--lang=", 7)) found = argv[n] + 7;
    if (!strcmp(argv[n], "--lang") && n + 1 < argc) found = argv[n + 1];
  }
  return found && (!strcmp(found, "en") || !strcmp(found, "ja")) ? found : NULL;
}

/* "ja" and "ja_JP.UTF-8" are Japanese, anything else is English. */
void attn_cli_set_language(int argc, char **argv) {
  static const char *const names[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
  const char *lang = language_option(argc, argv);
  for (int n = 0; !lang && n < 3; n++) {
    const char *value = getenv(names[n]);
    if (value && *value) lang = value;
  }
  chosen = lang && !strncmp(lang, "ja", 2) ? ATTN_LANGUAGE_JAPANESE : ATTN_LANGUAGE_ENGLISH;
}

const char *attn_cli_translate(const char *english, char *to) {
  return chosen == ATTN_LANGUAGE_JAPANESE ? attn_cli_japanese_of(english, to) : english;
}
