/* cmd_info.c -- attn info: the machine, the kernels, models, tensor files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/model.h"
#include "command.h"
#include "console.h"
#include "model_info.h"

static const char help[] =
    "attn info - the machine, the kernels, a model, tensor files\n\n"
    "usage: attn info [FILE...] [--tensors] [--measure] [--json]\n\n"
    "Of a checkpoint or a model's folder: kind, layers, heads, widths, vocabulary, parameters; "
    "how\n"
    "many steps it was trained, and how its training's last validation on held-out examples went.\n"
    "Of another file: the tensors in it, by name, type and shape. Without a file: the CPU, its\n"
    "instruction sets, which one is in use and why, the kernels, threads and versions.\n\n"
    "  --tensors   of a checkpoint the tensors, those of the optimizer (adamw.*) last\n"
    "  --measure   the CPU's peak of fused multiply-adds and its memory bandwidth, one thread\n"
    "  --json      one object\n\n"
    "ATTN_ISA=scalar|avx2|avx512 chooses another instruction set, ATTN_THREADS=N the threads.\n\n"
    "examples:\n  attn info --measure\n  attn info q.npy dates.safetensors\n"
    "  attn info --tensors dates.safetensors\n  attn info model.safetensors:layer.0.q\n";

/* ---- Tensor files ------------------------------------------------------------------ */

/* The library's name of the type, or else the file's own. */
static const char *type_of(const attn_array_entry *e) {
  return e->dtype ? attn_dtype_name((attn_dtype)e->dtype) : e->type;
}

/* What training keeps beside the weights. */
static int is_optimizer(const attn_array_entry *e) { return !strncmp(e->name, "adamw.", 6); }

static void print_entry_json(const char *file, const attn_array_entry *e, int *printed) {
  printf("%s{\"file\": ", (*printed)++ ? ", " : "");
  attn_cli_json_string(file);
  printf(", \"name\": ");
  attn_cli_json_string(e->name);
  printf(", \"dtype\": ");
  attn_cli_json_string(type_of(e));
  printf(", \"shape\": ");
  attn_cli_json_shape(e->shape, e->rank);
  printf(", \"offset\": %lld, \"bytes\": %lld}", (long long)e->offset, (long long)e->bytes);
}

static void print_entry(const char *file, const attn_array_entry *e) {
  attn_cli_print_text(file, stdout);
  if (*e->name) putchar(':');
  attn_cli_print_text(e->name, stdout);
  printf(": ");
  attn_cli_print_text(type_of(e), stdout);
  printf(" (");
  for (int n = 0; n < e->rank; n++) printf("%s%lld", n ? ", " : "", (long long)e->shape[n]);
  printf("%s)\n", e->rank == 1 ? "," : "");
}

/* Of a list or, where name is not NULL, those of that name; weights before the optimizer's. Returns
 * how many. */
static int64_t print_list(const char *file, const char *name, const attn_array_list *list,
                          int *printed, int json) {
  int64_t found = 0;
  for (int optimizer = 0; optimizer < 2; optimizer++)
    for (int64_t n = 0; n < list->count; n++) {
      const attn_array_entry *e = &list->entry[n];
      if ((name && strcmp(name, e->name)) || is_optimizer(e) != optimizer) continue;
      found++;
      if (json)
        print_entry_json(file, e, printed);
      else
        print_entry(file, e);
    }
  return found;
}

static int print_tensors(const char *path, int *printed, int json) {
  attn_array_list list;
  attn_error err;
  const char *name;
  size_t length = attn_array_path_split(path, &name);
  if (attn_array_list_read(path, &list, &err)) return attn_cli_report_error("info", path, &err);
  char *file = strndup(path, length);
  int64_t found = file ? print_list(file, name, &list, printed, json) : 0;
  int fails = !file || (name && !found);
  if (!file)
    attn_cli_print_error("info", "no memory");
  else if (fails)
    attn_cli_print_error("info", "no tensor of that name; attn info --tensors %s lists them", file);
  else if (!list.count && !json)
    attn_cli_print_text(path, stdout), puts(": no tensors");
  attn_array_list_free(&list);
  free(file);
  return fails ? EXIT_TROUBLE : EXIT_OK;
}

/* A file:name is a tensor, whatever the file is. */
static int is_model(const char *path, int tensors) {
  const char *name;
  attn_array_path_split(path, &name);
  return !tensors && !name && attn_model_recognize(path);
}

static int print_files(char **paths, int files, int tensors, int json) {
  int status = EXIT_OK, printed = 0, one;
  if (json) printf("{\"schema\": \"attn-info/1\", \"tensors\": [");
  for (int n = 0; n < files; n++)
    if (!is_model(paths[n], tensors) && (one = print_tensors(paths[n], &printed, json)) > status)
      status = one;
  if (json) printf("], \"models\": [");
  for (int n = printed = 0; n < files; n++) {
    if (!is_model(paths[n], tensors)) continue;
    if ((one = attn_info_print_model(paths[n], json, &printed)) > status) status = one;
  }
  if (json) printf("]}\n");
  return status;
}

/* ---- The machine ------------------------------------------------------------------- */

static void print_environment(const char *name) {
  const char *value = getenv(name);
  if (!value) return;
  printf("set       %s=", name);
  attn_cli_print_text(value, stdout);
  printf("\n");
}

static void print_text(const attn_machine *m, double gflops, double gbytes) {
  printf("attn      %s (header %d.%d.%d)\n", attn_version_string(), ATTN_VERSION_MAJOR,
         ATTN_VERSION_MINOR, ATTN_VERSION_PATCH);
  printf("cpu       ");
  attn_cli_print_text(m->cpu, stdout);
  printf("\nhas       %s\n", m->features);
  printf("uses      %s%s, %d threads\n", attn_isa_name(m->isa),
         m->isa_unknown          ? " (ATTN_ISA names none that this CPU has: calls will fail)"
         : m->isa != m->isa_best ? " (asked for by ATTN_ISA)"
                                 : ", the best that this CPU and this build have",
         (int)m->threads);
  print_environment("ATTN_ISA");
  print_environment("ATTN_THREADS");
  for (int n = 0; attn_kernel_describe(n); n++)
    printf("%s%s\n", n ? "          " : "kernels   ", attn_kernel_describe(n));
  if (gflops > 0)
    printf("measured  %.1f GFLOP/s of float32 multiply-adds, %.1f GB/s read, one thread\n", gflops,
           gbytes);
}

static void print_json(const attn_machine *m, double gflops, double gbytes) {
  printf("{\"schema\": \"attn-info/1\", \"version\": \"%s\", \"cpu\": ", attn_version_string());
  attn_cli_json_string(m->cpu);
  printf(", \"features\": ");
  attn_cli_json_string(m->features);
  printf(", \"isa\": \"%s\", \"isa_best\": \"%s\", \"isa_unknown\": %s, \"threads\": %d",
         attn_isa_name(m->isa), attn_isa_name(m->isa_best), m->isa_unknown ? "true" : "false",
         (int)m->threads);
  printf(", \"kernels\": [");
  for (int n = 0; attn_kernel_describe(n); n++) {
    if (n) printf(", ");
    attn_cli_json_string(attn_kernel_describe(n));
  }
  printf("]");
  if (gflops > 0) printf(", \"gflops\": %.1f, \"gbytes\": %.1f", gflops, gbytes);
  printf("}\n");
}

int attn_cmd_info(int argc, char **argv) {
  int measure = 0, tensors = 0, json = 0, wants_help = 0, files;
  const struct attn_cli_option table[] = {{"--tensors", OPTION_FLAG, &tensors, NULL},
                                          {"--measure", OPTION_FLAG, &measure, NULL},
                                          {"--json", OPTION_FLAG, &json, NULL},
                                          {"--help", OPTION_FLAG, &wants_help, NULL},
                                          {"-h", OPTION_FLAG, &wants_help, NULL}};
  if (attn_cli_parse_options(argc, argv, table, 5, &files)) return EXIT_TROUBLE;
  if (wants_help) return fputs(help, stdout), EXIT_OK;
  if (files) return print_files(argv + 1, files, tensors, json);
  attn_machine machine = {.struct_size = sizeof machine};
  double gflops = 0, gbytes = 0;
  attn_machine_query(&machine);
  if (measure && attn_machine_measure(&gflops, &gbytes))
    return attn_cli_print_error("info",
                                "cannot measure: no memory, or ATTN_ISA names no instruction set");
  (json ? print_json : print_text)(&machine, gflops, gbytes);
  return EXIT_OK;
}
