/* html_page.c -- panels as one HTML page, which is also well-formed XML.
 *
 * The page has both languages; two radio buttons and a CSS rule select one without a script. The
 * script only updates the page's lang attribute. */
#include <math.h>

#include "html.h"
#include "number_text.h"
#include "page_files.h"

/* Wider pictures can be focused, for scrolling by keyboard, without a script too. */
enum { SCROLLS = 640 };

void attn_html_words(struct attn_out *out, const attn_bilingual_text *words) {
  for (int language = 0; language < 2; language++) {
    const char *text = attn_text_in(words, language);
    if (!*text) return;
    attn_putf(out, "<span lang=\"%s\">", attn_language_code(language));
    attn_xml_text(out, text);
    attn_put(out, "</span>");
  }
}

void attn_html_message(struct attn_out *out, int message) {
  const attn_bilingual_text words = attn_message_bilingual(message);
  attn_html_words(out, &words);
}

/* ---- The head ------------------------------------------------------------------------------- */

static void put_variables(struct attn_out *out, enum attn_theme theme) {
  static const struct {
    const char *name;
    int paint;
  } variables[] = {{":root{--page:", ATTN_PAINT_PAGE},
                   {";--ink:", ATTN_PAINT_INK},
                   {";--faint:", ATTN_PAINT_FAINT},
                   {";--grid:", ATTN_PAINT_GRID},
                   {";--first:", ATTN_PAINT_FIRST}};
  for (size_t n = 0; n < sizeof variables / sizeof *variables; n++) {
    attn_put(out, variables[n].name);
    attn_xml_color(out, variables[n].paint, theme);
  }
  attn_put(out, "}\n");
  attn_xml_theme(out, theme);
}

static void put_head(struct attn_out *out, const attn_bilingual_text *title, int language,
                     const char *style) {
  attn_putf(out, "<!DOCTYPE html>\n<html lang=\"%s\">\n", attn_language_code(language));
  attn_put(out,
           "<head>\n<meta charset=\"utf-8\"/>\n"
           "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/>\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
           "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
           "form-action 'none'\"/>\n"
           "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>");
  attn_xml_text(out, attn_text_in(title, language));
  attn_put(out, "</title>\n<style>\n");
  put_variables(out, ATTN_LIGHT);
  attn_put(out, "@media (prefers-color-scheme:dark){\n");
  put_variables(out, ATTN_DARK);
  attn_put(out, "}\n");
  attn_put(out, page_css);
  if (style) attn_put(out, style);
  attn_put(out, "</style>\n</head>\n");
}

static void put_language(struct attn_out *out, const char *code, const char *name, int is_checked) {
  attn_putf(out, "<input type=\"radio\" name=\"language\" id=\"to-%s\"%s/>", code,
            is_checked ? " checked=\"checked\"" : "");
  attn_putf(out, "<label for=\"to-%s\" lang=\"%s\">%s</label>\n", code, code, name);
}

static void put_languages(struct attn_out *out, int language) {
  attn_put(out, "<header>\n");
  put_language(out, "ja", "日本語", language == ATTN_LANGUAGE_JAPANESE);
  put_language(out, "en", "English", language == ATTN_LANGUAGE_ENGLISH);
  attn_put(out, "</header>\n");
}

/* ---- A panel's numbers as a table ---- */

static void put_header(struct attn_out *out, const attn_panel *p, int axis, int32_t index) {
  char text[ATTN_NAME_BYTES];
  attn_put(out, axis ? "<th scope=\"col\">" : "<th scope=\"row\">");
  attn_xml_text(out, attn_panel_label(p, axis, index, 0, text));
  attn_put(out, "</th>");
}

static void put_table_head(struct attn_out *out, const attn_panel *p) {
  attn_put(out, "<thead><tr><td></td>");
  for (int32_t j = 0; j < p->cols; j++) {
    if (p->kind == ATTN_PANEL_ARROWS || p->kind == ATTN_PANEL_ROOFLINE)
      attn_put(out, j ? "<th scope=\"col\">y</th>" : "<th scope=\"col\">x</th>");
    else
      put_header(out, p, 1, j);
  }
  attn_put(out, "</tr></thead>\n");
}

static void put_table(struct attn_out *out, const attn_panel *p) {
  attn_put(out, "<details><summary>");
  attn_html_message(out, MESSAGE_PICTURE_TABLE);
  attn_put(out, "</summary><div class=\"wide\"><table>\n");
  put_table_head(out, p);
  attn_put(out, "<tbody>\n");
  for (int32_t i = 0; i < p->rows; i++) {
    attn_put(out, "<tr>");
    put_header(out, p, 0, i);
    for (int32_t j = 0; j < p->cols; j++) {
      double value = attn_panel_at(p, i, j);
      attn_put(out, "<td>");
      if (!isnan(value)) attn_put(out, ATTN_NUMBER_TEXT(value, out->style.precision));
      attn_put(out, "</td>");
    }
    attn_put(out, "</tr>\n");
  }
  attn_put(out, "</tbody></table></div></details>\n");
}

/* ---- A panel -------------------------------------------------------------------------------- */

/* Returns whether there was no memory for it. */
static int put_drawing(struct attn_out *out, const attn_panel *p, int32_t n) {
  struct attn_svg svg;
  attn_svg_begin(&svg, out, 1);
  const struct attn_panel_layout f = attn_panel_measure(p, &svg.canvas);
  const double width = ceil(f.width) + 4, height = ceil(f.height) + 4;
  attn_putf(out, "<div class=\"wide\"%s role=\"group\" aria-labelledby=\"panel-%d\">",
            f.width > SCROLLS ? " tabindex=\"0\"" : "", (int)n + 1);
  attn_putf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"panel-%d\" "
            "width=\"%.0f\" height=\"%.0f\" viewBox=\"-2 -2 %.0f %.0f\">\n",
            (int)n + 1, width, height, width, height);
  attn_panel_draw(p, &f, &svg.canvas, 0, 0);
  attn_put(out, "</svg></div>\n");
  return svg.canvas.no_memory;
}

int attn_html_panel(struct attn_out *out, const attn_panel *p, int32_t n) {
  attn_putf(out, "<figure>\n<figcaption id=\"panel-%d\"><b>", (int)n + 1);
  attn_html_words(out, &p->title);
  attn_put(out, "</b><span class=\"note\">");
  attn_html_words(out, &p->note);
  attn_put(out, "</span></figcaption>\n");
  int no_memory = put_drawing(out, p, n);
  if (p->at && (int64_t)p->rows * p->cols <= ATTN_TABLE_CELLS) put_table(out, p);
  attn_put(out, "</figure>\n");
  return no_memory;
}

static int put_panels(struct attn_out *out, const struct attn_picture *p) {
  int open = 0, no_memory = 0;
  for (int32_t n = 0; n < p->panels && !out->failed; n++) {
    int heading = attn_picture_has_heading(p, n);
    if (open && heading) attn_put(out, "</div></section>\n"), open = 0;
    if (!open) attn_put(out, "<section>");
    if (heading) {
      attn_put(out, "<h2>");
      attn_html_words(out, &p->panel[n].section);
      attn_put(out, "</h2>");
    }
    if (!open) attn_put(out, "<div class=\"panels\">\n");
    open = 1;
    no_memory |= attn_html_panel(out, &p->panel[n], n);
  }
  attn_put(out, "</div></section>\n");
  return no_memory;
}

/* ---- A page --------------------------------------------------------------------------------- */

void attn_html_begin(struct attn_out *out, const attn_bilingual_text *title, const char *style) {
  put_head(out, title, out->style.language, style);
  attn_put(out, "<body>\n");
  put_languages(out, out->style.language);
  attn_put(out, "<main>\n<h1>");
  attn_html_words(out, title);
  attn_put(out, "</h1>\n");
}

/* A CDATA section within comments of JavaScript: the page is HTML and XML. */
void attn_html_end(struct attn_out *out, const char *script) {
  attn_put(out, "</main>\n<script>//<![CDATA[\n");
  attn_put(out, page_language_js);
  attn_put(out, page_links_js);
  attn_put(out, page_scroll_js);
  if (script) attn_put(out, script);
  attn_put(out, "//]]></script>\n</body>\n</html>\n");
}

attn_status attn_picture_html(struct attn_out *out, const struct attn_picture *p, attn_error *err) {
  const attn_bilingual_text nameless = attn_message_bilingual(MESSAGE_PICTURE);
  attn_html_begin(out, *attn_text_in(&p->title, 0) ? &p->title : &nameless, NULL);
  int no_memory = put_panels(out, p);
  attn_html_end(out, NULL);
  return no_memory ? attn_picture_no_memory(err) : ATTN_OK;
}
