/* Any text as a model's configuration: one that is written and read back the same, and of which a
 * small model is trained for a step, opened and asked; or a typed error. */
#include "attn/train.h"
#include "config.h"
#include "opened.h"
#include "network.h"

enum { NUMBERS_MOST = 1 << 15, LENGTH_MOST = 1 << 10 };

/* Of what is small enough to be tried many times a second. */
static int is_small(const struct attn_model_config *c) {
  int64_t numbers;
  return c->encoder_layers + c->decoder_layers <= 8 && !attn_network_count(c, &numbers, NULL) &&
         numbers <= NUMBERS_MOST && c->max_positions <= LENGTH_MOST &&
         c->num_heads * c->head_dim <= LENGTH_MOST;
}

static int parse(const char *text, size_t length, struct attn_model_config *c) {
  attn_error err;
  attn_status status = attn_model_config_parse(text, length, c, &err);
  MUST(!status || (status == ATTN_ERR_FORMAT && err.message[0]));
  return !status;
}

/* What is written says all of it. */
static void write_back(const struct attn_model_config *c) {
  struct attn_model_config again;
  char *text = attn_model_config_write(c);
  MUST(text && parse(text, strlen(text), &again));
  char *twice = attn_model_config_write(&again);
  MUST(twice && !strcmp(text, twice));
  free(text), free(twice);
}

static int32_t stop(void *context, const attn_train_state *state) {
  (void)context;
  return state->step >= 1;
}

static void train(const char *config) {
  static const char lines[] = "ab\tba\na b\tb a\naa\tab\nbb\tb\n12\t21\nc\tc\n";
  char data[1100], output[1100];
  attn_train_config run = ATTN_TRAIN_CONFIG_INIT;
  attn_error err;
  put_file("pairs.tsv", lines, sizeof lines - 1);
  run.data = run.validation_data = path_of(data, "pairs.tsv"),
  run.output = path_of(output, "m.safetensors");
  run.config = config, run.replace = 1,
  run.steps = run.batch_size = run.max_validation_examples = 1, run.threads = 1;
  run.tokenizer = "words", run.progress = stop; /* of characters takes longer */
  attn_status status = attn_model_train(&run, NULL, &err);
  MUST(!status || err.message[0]);
  if (!status) MUST(!use_model(output));
}

/* With the vocabulary that training gives it. */
static int is_trainable(const char *text) {
  const char *close = strrchr(text, '}');
  size_t room = strlen(text) + 64;
  char *whole = malloc(room);
  struct attn_model_config c;
  MUST(whole);
  snprintf(whole, room, "%.*s,\"vocab_size\":11}", close ? (int)(close - text) : 0, text);
  int small = parse(whole, strlen(whole), &c) && is_small(&c);
  free(whole);
  return small;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct attn_model_config c;
  if (parse((const char *)data, size, &c)) write_back(&c);
  char *text = text_of((struct part){(const char *)data, size});
  if (strlen(text) == size && is_trainable(text)) train(text);
  free(text);
  return 0;
}
