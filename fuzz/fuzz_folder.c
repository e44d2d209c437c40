/* A folder as Hugging Face keeps a model, whose texts are any: opened, asked, looked into; or a
 * typed error. An input is the files of `names`, a NUL behind each; an empty one is not there.
 * Weights are those that config.json describes, so that the texts are what matters. */
#include "families.h"
#include "opened.h"

enum { NUMBERS_MOST = 1 << 14, LENGTH_MOST = 1 << 10 };

static const char *const names[] = {"config.json",
                                    "tokenizer.json",
                                    "modules.json",
                                    "1_Pooling/config.json",
                                    "sentence_bert_config.json",
                                    "generation_config.json"};

/* None, or empty ones, where there is no small model. */
static void make_weights(struct part json) {
  struct attn_model_config c;
  const struct attn_hf_family *f;
  struct attn_network *n = NULL;
  float *weights = NULL;
  int64_t numbers;
  char path[1100];
  put_file("model.safetensors", "", 0);
  if (attn_hf_config_parse(json.text, json.length, &c, &f, NULL) ||
      attn_network_count(&c, &numbers, NULL) || numbers > NUMBERS_MOST || c.max_positions > LENGTH_MOST ||
      c.num_heads * c.head_dim > NUMBERS_MOST)
    return;
  char *text = NULL;
  MUST(!attn_network_allocate(&c, &n, &weights, NULL));
  attn_network_init_weights(n, 1);
  attn_hf_weights_write(path_of(path, "model.safetensors"), f, n, NULL);
  attn_hf_config_write(f, &c, &text, NULL);
  attn_network_free(n), free(weights), free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[1100];
  struct part first = {"", 0};
  mkdir(path_of(path, "1_Pooling"), 0700);
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    struct part p = next_part(&data, &size);
    if (n == 0) first = p;
    if (p.length)
      put_file(names[n], p.text, p.length);
    else
      remove_file(names[n]);
  }
  make_weights(first);
  use_model(folder);
  return 0;
}
