/* scene_caption.c -- the grammar of captions.
 *
 *     English    object (relation object)*        | object position
 *     Japanese   (object の relation の|に)* object が ある  | position に object が ある
 *     object     a size color shape | a photo's class
 *
 * A relation is between an object and the next one. Japanese begins with the last object. */
#include <string.h>

#include "attn/lesson.h"
#include "scene.h"

static const char *const sizes[2][2] = {{"small", "large"}, {"小さな", "大きな"}};

static const char *const colors[2][ATTN_SCENE_COLORS] = {
    {"red", "orange", "yellow", "green", "blue", "purple", "pink", "black"},
    {"赤い", "オレンジ色", "黄色い", "緑", "青い", "紫", "ピンク", "黒い"}};

static const char *const shapes[2][ATTN_SCENE_SHAPES] = {
    {"circle", "square", "triangle", "star", "cross", "ring", "heart", "diamond"},
    {"丸", "四角", "三角", "星", "十字", "輪", "ハート", "ひし形"}};

/* Of photos: the article and the noun, then the Japanese one. */
static const char *const kinds[ATTN_PHOTO_CLASSES][3] = {
    {"a", "T-shirt", "Tシャツ"},  {NULL, "trousers", "ズボン"},   {"a", "pullover", "セーター"},
    {"a", "dress", "ワンピース"}, {"a", "coat", "コート"},        {"a", "sandal", "サンダル"},
    {"a", "shirt", "シャツ"},     {"a", "sneaker", "スニーカー"}, {"a", "bag", "バッグ"},
    {"a", "boot", "ブーツ"}};

/* By row and column: one to two words after the preposition. */
static const char *const positions[ATTN_SCENE_GRID * ATTN_SCENE_GRID][4] = {
    {"at", "top", "left", "左上"},    {"at", "top", NULL, "上"},
    {"at", "top", "right", "右上"},   {"on", "left", NULL, "左"},
    {"in", "center", NULL, "中央"},   {"on", "right", NULL, "右"},
    {"at", "bottom", "left", "左下"}, {"at", "bottom", NULL, "下"},
    {"at", "bottom", "right", "右下"}};

struct caption_writer {
  const struct attn_scene *scene;
  struct attn_caption *to;
  int language, spaced;
  size_t length;
};

/* The longest caption has 20 words and 170 bytes, with spaces 190. */
static void put(struct caption_writer *w, const char *text, int part, int object) {
  struct attn_caption *to = w->to;
  size_t bytes = strlen(text);
  if (w->spaced && w->length) to->text[w->length++] = ' ';
  to->word[to->words++] = (struct attn_caption_word){(int)w->length, (int)bytes, part, object};
  memcpy(to->text + w->length, text, bytes + 1);
  w->length += bytes;
}

static void put_other(struct caption_writer *w, const char *text) {
  put(w, text, ATTN_CAPTION_OTHER, -1);
}

static void put_photo(struct caption_writer *w, int n) {
  const char *const *kind = kinds[w->scene->object[n].shape];
  if (!w->language && kind[0]) put_other(w, kind[0]);
  put(w, kind[1 + w->language], ATTN_CAPTION_SHAPE, n);
}

static void put_object(struct caption_writer *w, int n) {
  const struct attn_scene_object *o = &w->scene->object[n];
  if (w->scene->has_photos) {
    put_photo(w, n);
    return;
  }
  const char *color = colors[w->language][o->color];
  int noun = w->language && strcmp(color + strlen(color) - strlen("い"), "い") != 0;
  if (!w->language) put_other(w, "a");
  put(w, sizes[w->language][o->large], ATTN_CAPTION_SIZE, n);
  put(w, color, ATTN_CAPTION_COLOR, n);
  if (noun) put_other(w, "の"); /* 緑の, but 赤い */
  put(w, shapes[w->language][o->shape], ATTN_CAPTION_SHAPE, n);
}

/* Whether object n is above the next one rather than left of it. */
static int is_above(const struct attn_scene *s, int n) {
  return s->object[n].col == s->object[n + 1].col;
}

static const char *const *position_of(const struct attn_scene *s) {
  return positions[s->object[0].row * ATTN_SCENE_GRID + s->object[0].col];
}

static void write_english(struct caption_writer *w) {
  const struct attn_scene *s = w->scene;
  for (int n = 0; n < s->objects; n++) {
    put_object(w, n);
    if (n + 1 == s->objects) break;
    put(w, is_above(s, n) ? "above" : "left", ATTN_CAPTION_RELATION, -1);
    if (!is_above(s, n)) put_other(w, "of");
  }
  if (s->objects > 1) return;
  const char *const *position = position_of(s);
  put_other(w, position[0]), put_other(w, "the");
  for (int n = 1; n < 3 && position[n]; n++) put(w, position[n], ATTN_CAPTION_POSITION, -1);
}

static void write_japanese(struct caption_writer *w) {
  const struct attn_scene *s = w->scene;
  for (int n = s->objects - 1; n > 0; n--) {
    put_object(w, n);
    put_other(w, "の");
    put(w, is_above(s, n - 1) ? "上" : "左", ATTN_CAPTION_RELATION, -1);
    put_other(w, n > 1 ? "の" : "に");
  }
  if (s->objects == 1) put(w, position_of(s)[3], ATTN_CAPTION_POSITION, -1), put_other(w, "に");
  put_object(w, 0);
  put_other(w, "が"), put_other(w, "ある");
}

void attn_scene_caption(const struct attn_scene *scene, int language, int spaced,
                        struct attn_caption *caption) {
  int japanese = language == ATTN_LANGUAGE_JAPANESE;
  struct caption_writer w = {scene, caption, japanese, spaced || !japanese, 0};
  caption->words = 0;
  if (japanese)
    write_japanese(&w);
  else
    write_english(&w);
}
