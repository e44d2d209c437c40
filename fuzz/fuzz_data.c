/* fuzz_data.c -- any bytes as lines of training data: the same examples in every epoch, in any
 * order, and a step of training if they are few; or an error. Bits of the first byte: plain text;
 * whether a second file, after 0xFF, is the validation data; the tokenizer; the model; and whether
 * to train, which takes a hundred times as long. */
#include "attn/train.h"
#include "text_pairs.h"
#include "opened.h"

enum { PLAIN_TEXT = 1, HELD_OUT = 2, READ_ONLY = 0x60, MAX_TRAINED = 400 };

static const char *const tokenizers[] = {"words", "characters", "bpe:270", "bpe:300"};
static const char *const models[] = {"", ",\"kind\":\"encoder\""};

static uint64_t mix(struct attn_text_view p) {
  uint64_t hash = p.length;
  for (size_t n = 0; n < p.length; n++) hash = hash * 31 + (unsigned char)p.text[n];
  return hash;
}

/* A sum over the examples of an epoch, independent of their order. */
static uint64_t epoch_hash(struct attn_text_pairs *d, int64_t round, int held_out) {
  int64_t count = attn_text_pairs_count(d, held_out);
  uint64_t sum = 0;
  for (int64_t n = round * count; n < (round + 1) * count; n++) {
    struct attn_text_pair pair;
    MUST(!attn_text_pairs_get(d, (uint64_t)n, held_out, &pair, NULL));
    MUST(pair.line >= 1 && pair.source.length + pair.target.length <= 1 << 16);
    MUST(!pair.target.length || !memchr(pair.target.text, '\n', pair.target.length));
    sum += mix(pair.source) * 7 + mix(pair.target) + (uint64_t)pair.line;
  }
  return sum;
}

static void read_lines(const char *path, const char *held_out, int plain_text) {
  struct attn_text_pairs *d = NULL;
  attn_error err;
  attn_status status = attn_text_pairs_from_file(path, held_out, plain_text, 3, NULL, &d, &err);
  MUST(!status == (d != NULL) && (!status || status == ATTN_ERR_FORMAT));
  for (int side = 0; side < 2 && !status; side++) {
    MUST(attn_text_pairs_count(d, side) > 0);
    MUST(epoch_hash(d, 0, side) == epoch_hash(d, 5, side));
  }
  attn_text_pairs_free(d);
}

static int32_t stop(void *context, const attn_train_state *state) {
  (void)context;
  return state->step >= 1;
}

static void train(const char *path, const char *held_out, uint8_t what) {
  char config[200], output[1100];
  attn_train_config run = ATTN_TRAIN_CONFIG_INIT;
  attn_error err;
  snprintf(
      config, sizeof config,
      "{\"d_model\":4,\"num_heads\":1,\"ffn_dim\":4,\"encoder_layers\":1,\"decoder_layers\":1%s}",
      what & PLAIN_TEXT ? ",\"kind\":\"decoder\"" : models[what >> 4 & 1]);
  run.data = path, run.validation_data = held_out, run.output = path_of(output, "m.safetensors");
  run.config = config, run.tokenizer = tokenizers[what >> 2 & 3], run.replace = 1;
  run.steps = run.batch_size = 1, run.max_validation_examples = 2, run.threads = 1,
  run.progress = stop;
  attn_status status = attn_model_train(&run, NULL, &err);
  MUST(!status || err.message[0]);
  if (!status) MUST(!use_model(output));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char one[1100], two[1100];
  uint8_t what = size ? *data : 0;
  if (size) data++, size--;
  const uint8_t *mark = what & HELD_OUT && size ? memchr(data, 0xFF, size) : NULL;
  size_t first = mark ? (size_t)(mark - data) : size;
  put_file("one.tsv", data, first);
  if (mark) put_file("two.tsv", mark + 1, size - first - 1);
  path_of(one, "one.tsv"), path_of(two, "two.tsv");
  read_lines(one, mark ? two : NULL, what & PLAIN_TEXT);
  if (size <= MAX_TRAINED && !(what & READ_ONLY)) train(one, mark ? two : NULL, what);
  return 0;
}
