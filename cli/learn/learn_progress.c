/* learn_progress.c -- the progress file: a header, then a line per exercise. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "console.h"
#include "learn.h"

static const char header[] = "attn learn 1\n";

/* ---- Where the file is ---- */

/* The XDG base directory specification ignores relative paths. */
static attn_status find_path(const char *path, char **to, attn_error *err) {
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  if (path)
    *to = strdup(path);
  else if (state && *state == '/')
    *to = attn_cli_join_path(state, "attn/learn.tsv");
  else if (home && *home == '/')
    *to = attn_cli_join_path(home, ".local/state/attn/learn.tsv");
  else
    return attn_cli_fail(err, ATTN_ERR_ARGUMENT,
                         "HOME is not set; name a file with --progress FILE");
  return *to ? ATTN_OK : attn_cli_no_memory(err);
}

/* Creates the folders of a path. */
static attn_status make_folders(const char *path, attn_error *err) {
  char *folder = strdup(path);
  attn_status status = ATTN_OK;
  if (!folder) return attn_cli_no_memory(err);
  for (char *slash = strchr(folder + 1, '/'); slash && !status; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    if (mkdir(folder, 0777) && errno != EEXIST)
      status = attn_cli_fail_file(err, folder, "cannot create the folder");
    *slash = '/';
  }
  free(folder);
  return status;
}

/* ---- Reading ---- */

/* "3.1\t7\t2\t1\t3\t45": exercise, seed, attempts, done, level and place of the last hint. */
static int read_line(const char *line, struct attn_cli_learn_progress *p) {
  int chapter, exercise, end = 0;
  unsigned long long seed;
  long long place;
  struct attn_cli_learn_state s;
  if (sscanf(line, "%3d.%1d\t%20llu\t%9d\t%1d\t%1d\t%18lld%n", &chapter, &exercise, &seed,
             &s.attempts, &s.is_done, &s.level, &place, &end) != 7 ||
      line[end] != '\n')
    return -1;
  if (chapter < 1 || chapter > attn_cli_learn_chapter_count || exercise < 1 ||
      exercise > LEARN_EXERCISES || s.attempts < 1 || s.is_done < 0 || s.is_done > 1 ||
      s.level < 0 || s.level > 3)
    return -1;
  s.seed = seed, s.place = place;
  p->state[chapter - 1][exercise - 1] = s;
  return 0;
}

static attn_status parse(const char *text, struct attn_cli_learn_progress *p, attn_error *err) {
  int64_t line = 1;
  if (strncmp(text, header, strlen(header)))
    return attn_cli_fail(err, ATTN_ERR_FORMAT,
                         "is not a progress file of attn learn; move it away, or name another "
                         "with --progress FILE");
  for (const char *at = text + strlen(header); *at; at = strchr(at, '\n') + 1) {
    line++;
    if (strchr(at, '\n') && !read_line(at, p)) continue;
    attn_cli_fail(err, ATTN_ERR_FORMAT,
                  "is not a line of progress; delete the line, or move the file away");
    err->line = line, err->column = 1;
    return ATTN_ERR_FORMAT;
  }
  return ATTN_OK;
}

attn_status attn_cli_learn_progress_read(const char *path, struct attn_cli_learn_progress *p,
                                         attn_error *err) {
  struct stat info;
  char *text;
  *p = (struct attn_cli_learn_progress){.path = NULL};
  attn_status status = find_path(path, &p->path, err);
  if (status || (stat(p->path, &info) && errno == ENOENT)) return status;
  status = attn_cli_read_text(p->path, &text, err);
  if (!status) status = parse(text, p, err), free(text);
  return status;
}

/* ---- Writing ---- */

attn_status attn_cli_learn_progress_write(const struct attn_cli_learn_progress *p,
                                          attn_error *err) {
  struct attn_cli_buffer buffer = {NULL, 0, 0, 0};
  const attn_sink sink = attn_cli_buffer_sink(&buffer);
  attn_cli_write(&sink, "%s", header);
  for (int c = 0; c < attn_cli_learn_chapter_count; c++)
    for (int n = 0; n < LEARN_EXERCISES; n++) {
      const struct attn_cli_learn_state *s = &p->state[c][n];
      if (!s->attempts) continue;
      attn_cli_write(&sink, "%d.%d\t%llu\t%d\t%d\t%d\t%lld\n", c + 1, n + 1,
                     (unsigned long long)s->seed, s->attempts, s->is_done, s->level,
                     (long long)s->place);
    }
  return attn_cli_buffer_save(&buffer, p->path, make_folders(p->path, err), err);
}

void attn_cli_learn_progress_free(struct attn_cli_learn_progress *p) { free(p->path); }
