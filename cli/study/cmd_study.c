/* cmd_study.c -- attn study: claims about attention, repeated as experiments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "help_files.h"
#include "picture_files.h"
#include "study.h"

const struct study attn_cli_studies[] = {
    {"scaling", "without 1/sqrt(d) the softmax saturates and its gradient vanishes",
     "Weights of random queries and 16 keys with entries of variance 1; a model with one head, at "
     "head_dim 64, by training step.",
     "[Vaswani17] section 3.2.1", 200, attn_cli_study_scaling},
    {"residual", "residual connections let deep networks train",
     "Exact matches on new words after training, by layers of encoder and decoder.",
     "[Vaswani17] section 3.1", 150, attn_cli_study_residual},
    {"norm", "layer normalization steadies training, above all before each sublayer",
     "Exact matches on new words after training, by layers of encoder and decoder.", "[Xiong20]",
     150, attn_cli_study_norm},
    {"heads", "several heads attend to several aspects at the same cost",
     "The same width divided among more heads: exact matches, how much the heads of the "
     "cross-attention differ (mean total variation distance), and the time of a training step.",
     "[Vaswani17] section 3.2.2", 150, attn_cli_study_heads},
    {"positions", "attention needs positions, and which ones decides about longer inputs",
     "Trained on words of 3 to 8 letters; exact matches on those and on longer words.",
     "[Vaswani17] section 3.5", 400, attn_cli_study_positions},
    {"bottleneck", "one vector of fixed length does not hold an image of several objects",
     "Captioners of the task captions with an LSTM: additive alignment, the same with equal "
     "weights, and none, where the first state is computed from one vector. Exact captions by "
     "objects.",
     "[Bahdanau14], [Xu15]", 600, attn_cli_study_bottleneck},
    {"alignment", "score functions: additive, dot, scaled, general",
     "The same captioners. exact: captions; unseen: captions with a shape in a new colour; "
     "pointing: attention is highest at the object; hidden: words that change if that place is "
     "hidden; control: if another is.",
     "[Bahdanau14], [Luong15]", 600, attn_cli_study_alignment},
    {"permutation", "self-attention is equivariant to permutations; positions break it",
     "Attention of 32 random vectors of width 64: with permuted queries, with all tokens permuted, "
     "and the same with sinusoidal positions added.",
     "[Lee19]", 0, attn_cli_study_permutation},
};

int attn_cli_study_count(void) { return sizeof attn_cli_studies / sizeof *attn_cli_studies; }

struct study_options {
  int64_t seeds, seed, steps, test_examples, threads;
  struct attn_cli_pictures pictures;
  int list, json, quiet, has_steps, has_tests;
};

static int list_studies(void) {
  for (int n = 0; n < attn_cli_study_count(); n++) {
    printf("%-12s ", attn_cli_studies[n].name);
    attn_cli_print_line("%s", attn_cli_studies[n].claim);
  }
  return EXIT_OK;
}

static const struct study *find_study(const char *name) {
  const char *names[16];
  int count = attn_cli_study_count();
  for (int n = 0; n < count; n++) {
    if (!strcmp(name, attn_cli_studies[n].name)) return &attn_cli_studies[n];
    names[n] = attn_cli_studies[n].name;
  }
  attn_cli_print_unknown_name("study", name, names, count);
  return NULL;
}

static attn_status write_results(const struct study_options *o, const struct study_run *run,
                                 attn_error *err) {
  (o->json ? attn_cli_study_print_json : attn_cli_study_print_text)(run);
  return attn_cli_write_pictures(&o->pictures, attn_cli_study_draw, run, err);
}

static int run_study(const struct study_options *o, const struct study *study) {
  attn_error err = {.offset = -1};
  struct study_run run = {.study = study,
                          .seeds = o->seeds,
                          .first_seed = (uint64_t)o->seed,
                          .steps = o->has_steps ? o->steps : study->steps,
                          .test_examples = o->test_examples,
                          .threads = (int32_t)o->threads,
                          .table = calloc(STUDY_TABLES, sizeof *run.table)};
  if (!run.table) return attn_cli_print_no_memory();
  run.progress = attn_cli_progress_begin(study->name, o->quiet);
  attn_status status = study->run(&run, &err);
  attn_cli_progress_end(&run.progress);
  attn_cli_study_clean(&run);
  if (!status) status = write_results(o, &run, &err);
  free(run.table);
  return status ? attn_cli_report_error(NULL, &err) : EXIT_OK;
}

int attn_cmd_study(int argc, char **argv) {
  struct study_options o = {.seeds = 3};
  int operands;
  const struct attn_cli_option table[] = {
      {"--list", OPTION_FLAG, &o.list, NULL},
      {"--seeds", OPTION_INT, &o.seeds, NULL},
      {"--seed", OPTION_INT, &o.seed, NULL},
      {"--steps", OPTION_INT, &o.steps, &o.has_steps},
      {"--test-examples", OPTION_INT, &o.test_examples, &o.has_tests},
      {"--threads", OPTION_INT, &o.threads, NULL},
      {"--json", OPTION_FLAG, &o.json, NULL},
      {"--quiet", OPTION_FLAG, &o.quiet, NULL},
      ATTN_CLI_PICTURE_OPTIONS(&o.pictures)};
  const int ended = attn_cli_parse_options(argc, argv, study_txt, ATTN_CLI_TABLE(table), &operands);
  if (ended >= 0) return ended;
  if (o.list) return list_studies();
  if (operands != 1) return attn_cli_print_usage_error("expected one study");
  if (attn_cli_check_range("--seeds", o.seeds, 1, STUDY_SEEDS) ||
      attn_cli_check_range("--seed", o.seed, 0, INT32_MAX) ||
      (o.has_steps && attn_cli_check_range("--steps", o.steps, 1, 1 << 20)) ||
      (o.has_tests && attn_cli_check_range("--test-examples", o.test_examples, 1, 1 << 17)) ||
      attn_cli_check_range("--threads", o.threads, 0, ATTN_CLI_MAX_THREADS))
    return EXIT_TROUBLE;
  const struct study *study = find_study(argv[1]);
  return study ? run_study(&o, study) : EXIT_TROUBLE;
}
