#include "unknown_tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"

/* All parts, to be freed; NULL: there are none, or they cannot be told. */
static attn_unknown_part *find(const attn_model *model, const char *text, int64_t *count) {
  attn_unknown_part *parts = NULL;
  if (attn_model_unknown(model, text, 0, NULL, count, NULL)) *count = 0;
  if (*count) parts = malloc((size_t)*count * sizeof *parts);
  if (parts) attn_model_unknown(model, text, *count, parts, count, NULL);
  if (!parts) *count = 0;
  return parts;
}

void attn_cli_warn_unknown_tokens(const char *what, int64_t line, const attn_model *model,
                                  const char *text) {
  enum { SHOWN = 3, LONGEST = 60 };
  int64_t count;
  attn_unknown_part *parts = find(model, text, &count);
  for (int64_t n = 0; n < count && n < SHOWN; n++) {
    int bytes = parts[n].bytes < LONGEST ? (int)parts[n].bytes : LONGEST;
    attn_error warning = {ATTN_ERR_FORMAT, "", "", line ? line : 1, parts[n].character, -1};
    char more[48] = "";
    if (n == SHOWN - 1 && count > SHOWN)
      snprintf(more, sizeof more, "; nor are %lld parts more", (long long)(count - SHOWN));
    snprintf(warning.message, sizeof warning.message,
             "\"%.*s\" is not in the model's vocabulary: it reads <unk> there%s", bytes,
             text + parts[n].offset, more);
    attn_cli_report_warning(what, &warning);
  }
  free(parts);
}

void attn_cli_json_unknown_tokens(const attn_model *model, const char *text) {
  int64_t count;
  attn_unknown_part *parts = find(model, text, &count);
  printf("\"unknown\": [");
  for (int64_t n = 0; n < count; n++) {
    char *part = strndup(text + parts[n].offset, (size_t)parts[n].bytes);
    printf("%s{\"text\": ", n ? ", " : "");
    attn_cli_json_string(part ? part : "");
    printf(", \"character\": %lld}", (long long)parts[n].character);
    free(part);
  }
  printf("]");
  free(parts);
}
