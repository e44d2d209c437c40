/* picture_files.h -- writes pictures to files: --svg, --png and --html of explain and show. */
#ifndef ATTN_CLI_PICTURE_FILES_H
#define ATTN_CLI_PICTURE_FILES_H

#include "attn/picture.h"
#include "options.h"

/* Paths by format; NULL: not requested. */
struct attn_cli_pictures {
  const char *svg, *png, *html;
};
#define ATTN_CLI_PICTURE_OPTIONS(p)                                                   \
  {"--svg", OPTION_TEXT, &(p)->svg, NULL}, {"--png", OPTION_TEXT, &(p)->png, NULL}, { \
    "--html", OPTION_TEXT, &(p)->html, NULL                                           \
  }

int attn_cli_has_pictures(const struct attn_cli_pictures *pictures);

/* If a PNG is requested, warns of the first label that its font lacks. Returns whether there is
 * one. */
int attn_cli_warn_of_glyphs(const struct attn_cli_pictures *pictures, const char *const *labels,
                            int32_t count);

/* Calls draw(data, format, sink, err) for each requested format. A file appears complete or not at
 * all; each is named on standard output. */
typedef attn_status (*attn_cli_draw)(const void *data, attn_picture_format format,
                                     const attn_sink *sink, attn_error *err);
attn_status attn_cli_write_pictures(const struct attn_cli_pictures *pictures, attn_cli_draw draw,
                                    const void *data, attn_error *err);

/* Text in memory; free bytes. */
struct attn_cli_buffer {
  char *bytes;
  size_t size, capacity;
  int failed; /* no memory */
};
attn_sink attn_cli_buffer_sink(struct attn_cli_buffer *buffer);

/* Ends the text with 0. ATTN_ERR_MEMORY: a part of it is missing. */
attn_status attn_cli_buffer_end(struct attn_cli_buffer *buffer, attn_error *err);

/* Is the file that a picture or a page would be written to the document itself? out NULL: no. */
int attn_cli_is_document(const char *out, const char *document);

/* Writes the text to a file, which appears complete or not at all, and empties the buffer. drawn:
 * the status of what wrote the text; after a failure, which is returned, there is no file. */
attn_status attn_cli_buffer_save(struct attn_cli_buffer *buffer, const char *path,
                                 attn_status drawn, attn_error *err);

#endif
