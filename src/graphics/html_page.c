/* html_page.c -- panels as one HTML page, which is also well-formed XML.
 *
 * The page has both languages; two radio buttons and a CSS rule select one without a script. The
 * script only updates the page's lang attribute. */
#include <math.h>
#include <string.h>

#include "html.h"
#include "number_text.h"
#include "page_script_files.h"

enum {
  SCROLLS = 640
}; /* wider pictures can be focused, for scrolling by keyboard, without a script too */

static void put(struct attn_out *out, const char *text) { attn_out_bytes(out, text, strlen(text)); }

void attn_html_words(struct attn_out *out, const attn_bilingual_text *words) {
  static const char *const open[] = {"<span lang=\"en\">", "<span lang=\"ja\">"};
  for (int language = 0; language < 2; language++) {
    const char *text = attn_text_in(words, language);
    if (!*text) return;
    put(out, open[language]);
    attn_xml_text(out, text);
    put(out, "</span>");
  }
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
    put(out, variables[n].name);
    attn_xml_color(out, variables[n].paint, theme);
  }
  put(out, "}\n");
  attn_xml_theme(out, theme);
}

static const char rules[] =
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:76rem;padding:1.25rem;background:var(--page);color:var(--ink);"
    "font:1rem/1.6 system-ui,-apple-system,\"Segoe UI\",\"Hiragino Sans\",\"Noto Sans JP\","
    "\"Noto Sans CJK JP\",\"Yu Gothic\",Meiryo,sans-serif}\n"
    "h1{font-size:1.6rem;line-height:1.3;margin:.75rem 0 1.5rem;overflow-wrap:anywhere}\n"
    "h2{font-size:1.2rem;margin:2.25rem 0 1rem;padding-bottom:.35rem;"
    "border-bottom:1px solid var(--grid);overflow-wrap:anywhere}\n"
    ".panels{display:flex;flex-wrap:wrap;gap:1rem;align-items:flex-start}\n"
    "figure{margin:0;padding:1rem 1.1rem;border:1px solid var(--grid);border-radius:.5rem;"
    "max-width:100%}\n"
    "figcaption{margin-bottom:.75rem;overflow-wrap:anywhere}\n"
    "figcaption b{display:block;font-weight:600}\n"
    ".note,summary{color:var(--faint);font-size:.85rem}\n"
    "summary{cursor:pointer;margin-top:.75rem;width:fit-content}\n"
    ".wide{overflow-x:auto}\n"
    "svg{display:block;font-family:inherit;font-variant-numeric:tabular-nums}\n"
    "rect{shape-rendering:crispEdges}\n"
    "table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums;"
    "margin-top:.5rem}\n"
    "th,td{padding:.2rem .6rem;border:1px solid var(--grid);text-align:right;"
    "font-weight:400}\nth{color:var(--faint)}\n"
    "input[name=language]{position:absolute;opacity:0}\n"
    "label{display:inline-block;padding:.2rem .8rem;margin-right:.35rem;border-radius:1rem;"
    "border:1px solid var(--grid);color:var(--faint);font-size:.85rem;cursor:pointer}\n"
    "input:checked+label{border-color:var(--ink);color:var(--ink);font-weight:600}\n"
    "input:focus-visible+label,summary:focus-visible,.wide:focus-visible,pre:focus-visible{"
    "outline:3px solid var(--first);outline-offset:2px}\n"
    "header:has(#to-en:checked)~main [lang=ja],header:has(#to-ja:checked)~main [lang=en]{"
    "display:none}\n"
    "@media print{label{display:none}figure{break-inside:avoid}}\n";

static void put_head(struct attn_out *out, const attn_bilingual_text *title, int language,
                     const char *style) {
  put(out,
      language ? "<!DOCTYPE html>\n<html lang=\"ja\">\n" : "<!DOCTYPE html>\n<html lang=\"en\">\n");
  put(out,
      "<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
      "form-action 'none'\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>");
  attn_xml_text(out, attn_text_in(title, language));
  put(out, "</title>\n<style>\n");
  put_variables(out, ATTN_LIGHT);
  put(out, "@media (prefers-color-scheme:dark){\n");
  put_variables(out, ATTN_DARK);
  put(out, "}\n");
  put(out, rules);
  if (style) put(out, style);
  put(out, "</style>\n</head>\n");
}

static void put_languages(struct attn_out *out, int language) {
  static const char *const names[][3] = {
      {"to-ja", "ja", "日本語"},
      {"to-en", "en", "English"},
  };
  put(out, "<header>\n");
  for (int n = 0; n < 2; n++) {
    put(out, "<input type=\"radio\" name=\"language\" id=\"");
    put(out, names[n][0]);
    put(out,
        (n == 0) == (language == ATTN_LANGUAGE_JAPANESE) ? "\" checked=\"checked\"/>" : "\"/>");
    put(out, "<label for=\"");
    put(out, names[n][0]);
    put(out, "\" lang=\"");
    put(out, names[n][1]);
    put(out, "\">");
    put(out, names[n][2]);
    put(out, "</label>\n");
  }
  put(out, "</header>\n");
}

/* ---- A panel's numbers as a table --------------------------------------------------------------
 */

static void put_header(struct attn_out *out, const attn_panel *p, int axis, int32_t index) {
  char text[ATTN_NAME_BYTES];
  put(out, axis ? "<th scope=\"col\">" : "<th scope=\"row\">");
  attn_xml_text(out, attn_panel_label(p, axis, index, 0, text));
  put(out, "</th>");
}

static void put_table_head(struct attn_out *out, const attn_panel *p) {
  put(out, "<thead><tr><td></td>");
  for (int32_t j = 0; j < p->cols; j++) {
    if (p->kind == ATTN_PANEL_ARROWS || p->kind == ATTN_PANEL_ROOFLINE)
      put(out, j ? "<th scope=\"col\">y</th>" : "<th scope=\"col\">x</th>");
    else
      put_header(out, p, 1, j);
  }
  put(out, "</tr></thead>\n");
}

static void put_table(struct attn_out *out, const attn_panel *p) {
  const attn_bilingual_text summary = attn_message_bilingual(MESSAGE_PICTURE_TABLE);
  put(out, "<details><summary>");
  attn_html_words(out, &summary);
  put(out, "</summary><div class=\"wide\"><table>\n");
  put_table_head(out, p);
  put(out, "<tbody>\n");
  for (int32_t i = 0; i < p->rows; i++) {
    put(out, "<tr>");
    put_header(out, p, 0, i);
    for (int32_t j = 0; j < p->cols; j++) {
      double value = attn_panel_at(p, i, j);
      put(out, "<td>");
      if (!isnan(value)) put(out, ATTN_NUMBER_TEXT(value, out->style.precision));
      put(out, "</td>");
    }
    put(out, "</tr>\n");
  }
  put(out, "</tbody></table></div></details>\n");
}

/* ---- A panel -------------------------------------------------------------------------------- */

static void put_size(struct attn_out *out, const struct attn_panel_layout *f) {
  double width = ceil(f->width) + 4, height = ceil(f->height) + 4;
  put(out, " width=\"");
  attn_xml_number(out, width);
  put(out, "\" height=\"");
  attn_xml_number(out, height);
  put(out, "\" viewBox=\"-2 -2 ");
  attn_xml_number(out, width);
  put(out, " ");
  attn_xml_number(out, height);
  put(out, "\">\n");
}

/* Returns whether there was no memory for it. */
static int put_drawing(struct attn_out *out, const attn_panel *p, int32_t n) {
  struct attn_svg svg;
  attn_svg_begin(&svg, out, 1);
  struct attn_panel_layout f = attn_panel_measure(p, &svg.canvas, out->style.precision);
  put(out, "<div class=\"wide\"");
  if (f.width > SCROLLS) put(out, " tabindex=\"0\"");
  put(out, " role=\"group\" aria-labelledby=\"panel-");
  put(out, ATTN_INTEGER_TEXT(n + 1));
  put(out, "\"><svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"panel-");
  put(out, ATTN_INTEGER_TEXT(n + 1));
  put(out, "\"");
  put_size(out, &f);
  attn_panel_draw(p, &f, &svg.canvas, 0, 0, out->style.precision);
  put(out, "</svg></div>\n");
  return svg.canvas.no_memory;
}

int attn_html_panel(struct attn_out *out, const attn_panel *p, int32_t n) {
  put(out, "<figure>\n<figcaption id=\"panel-");
  put(out, ATTN_INTEGER_TEXT(n + 1));
  put(out, "\"><b>");
  attn_html_words(out, &p->title);
  put(out, "</b><span class=\"note\">");
  attn_html_words(out, &p->note);
  put(out, "</span></figcaption>\n");
  int no_memory = put_drawing(out, p, n);
  if (p->at && (int64_t)p->rows * p->cols <= ATTN_TABLE_CELLS) put_table(out, p);
  put(out, "</figure>\n");
  return no_memory;
}

static int put_panels(struct attn_out *out, const struct attn_picture *p) {
  int open = 0, no_memory = 0;
  for (int32_t n = 0; n < p->panels && !out->failed; n++) {
    int heading = attn_picture_has_heading(p, n);
    if (open && heading) put(out, "</div></section>\n"), open = 0;
    if (!open) put(out, "<section>");
    if (heading) {
      put(out, "<h2>");
      attn_html_words(out, &p->panel[n].section);
      put(out, "</h2>");
    }
    if (!open) put(out, "<div class=\"panels\">\n");
    open = 1;
    no_memory |= attn_html_panel(out, &p->panel[n], n);
  }
  put(out, "</div></section>\n");
  return no_memory;
}

/* ---- A page --------------------------------------------------------------------------------- */

void attn_html_begin(struct attn_out *out, const attn_bilingual_text *title, const char *style) {
  put_head(out, title, out->style.language, style);
  put(out, "<body>\n");
  put_languages(out, out->style.language);
  put(out, "<main>\n<h1>");
  attn_html_words(out, title);
  put(out, "</h1>\n");
}

/* A CDATA section within comments of JavaScript: the page is HTML and XML. */
void attn_html_end(struct attn_out *out, const char *script) {
  put(out, "</main>\n<script>//<![CDATA[\n");
  put(out, page_language_js);
  put(out, page_links_js);
  put(out, page_scroll_js);
  if (script) put(out, script);
  put(out, "//]]></script>\n</body>\n</html>\n");
}

attn_status attn_picture_html(struct attn_out *out, const struct attn_picture *p, attn_error *err) {
  const attn_bilingual_text nameless = attn_message_bilingual(MESSAGE_PICTURE);
  attn_html_begin(out, *attn_text_in(&p->title, 0) ? &p->title : &nameless, NULL);
  int no_memory = put_panels(out, p);
  attn_html_end(out, NULL);
  return no_memory ? attn_picture_no_memory(err) : ATTN_OK;
}
