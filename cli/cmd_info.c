/* cmd_info.c -- attn info: the machine, the kernels, tensor files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/io.h"
#include "command.h"
#include "console.h"

static const char help[] =
    "attn info - the machine, the kernels, tensor files\n\n"
    "usage: attn info [FILE...] [--measure] [--json]\n\n"
    "With files: the tensors that they hold, by name, type and shape. Without: the CPU, its "
    "instruction\n"
    "sets, which one is in use and why, the kernels, threads and versions.\n\n"
    "  --measure   the CPU's peak of fused multiply-adds and its memory bandwidth, one thread\n"
    "  --json      one object\n\n"
    "ATTN_ISA=scalar|avx2|avx512 chooses another instruction set, ATTN_THREADS=N the threads.\n\n"
    "examples:\n  attn info --measure\n  attn info q.npy model.safetensors\n"
    "  attn info model.safetensors:layer.0.q\n";

/* ---- Tensor files ------------------------------------------------------------------ */

/* The library's name of the type, or else the file's own. */
static const char *type_of(const attn_array_entry *e) {
  return e->dtype ? attn_dtype_name((attn_dtype)e->dtype) : e->type;
}

static void print_entry(const char *file, const attn_array_entry *e, int *printed, int json) {
  if (json) {
    printf("%s{\"file\": ", (*printed)++ ? ", " : "");
    attn_cli_json_text(file);
    printf(", \"name\": ");
    attn_cli_json_text(e->name);
    printf(", \"dtype\": ");
    attn_cli_json_text(type_of(e));
    printf(", \"shape\": ");
    attn_cli_json_shape(e->shape, e->rank);
    printf(", \"offset\": %lld, \"bytes\": %lld}", (long long)e->offset, (long long)e->bytes);
    return;
  }
  printf("%s%s", file, *e->name ? ":" : "");
  attn_cli_put_plain(e->name, stdout);
  printf(": %s (", type_of(e));
  for (int n = 0; n < e->rank; n++) printf("%s%lld", n ? ", " : "", (long long)e->shape[n]);
  printf("%s)\n", e->rank == 1 ? "," : "");
}

static int print_file(const char *path, int *printed, int json) {
  attn_array_list list;
  attn_error err;
  const char *name;
  size_t length = attn_array_path_split(path, &name);
  attn_status status = attn_array_list_read(path, &list, &err);
  if (status) return attn_cli_fail("info", status == ATTN_ERR_FILE ? NULL : path, &err);
  char *file = strndup(path, length);
  int found = 0;
  for (int64_t n = 0; n < list.count && file; n++) {
    if (name && strcmp(name, list.entry[n].name)) continue;
    print_entry(file, &list.entry[n], printed, json);
    found = 1;
  }
  if (name && !found)
    fprintf(stderr, "attn info: no tensor of that name; attn info %s lists them\n",
            file ? file : "");
  else if (!list.count && !json)
    printf("%s: no tensors\n", path);
  attn_array_list_free(&list);
  free(file);
  return name && !found ? EXIT_TROUBLE : EXIT_FINE;
}

static int print_files(char **paths, int files, int json) {
  int status = EXIT_FINE, printed = 0;
  if (json) printf("{\"schema\": \"attn-info/1\", \"tensors\": [");
  for (int n = 0; n < files; n++) {
    int one = print_file(paths[n], &printed, json);
    if (one > status) status = one;
  }
  if (json) printf("]}\n");
  return status;
}

/* ---- The machine ------------------------------------------------------------------- */

static void print_environment(const char *name) {
  const char *value = getenv(name);
  if (!value) return;
  printf("set       %s=", name);
  attn_cli_put_plain(value, stdout);
  printf("\n");
}

static void print_text(const attn_machine *m, double gflops, double gbytes) {
  printf("attn      %s (header %d.%d.%d)\n", attn_version_string(), ATTN_VERSION_MAJOR,
         ATTN_VERSION_MINOR, ATTN_VERSION_PATCH);
  printf("cpu       %s\nhas       %s\n", m->cpu, m->features);
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
  attn_cli_json_text(m->cpu);
  printf(", \"features\": ");
  attn_cli_json_text(m->features);
  printf(", \"isa\": \"%s\", \"isa_best\": \"%s\", \"isa_unknown\": %s, \"threads\": %d",
         attn_isa_name(m->isa), attn_isa_name(m->isa_best), m->isa_unknown ? "true" : "false",
         (int)m->threads);
  printf(", \"kernels\": [");
  for (int n = 0; attn_kernel_describe(n); n++) {
    if (n) printf(", ");
    attn_cli_json_text(attn_kernel_describe(n));
  }
  printf("]");
  if (gflops > 0) printf(", \"gflops\": %.1f, \"gbytes\": %.1f", gflops, gbytes);
  printf("}\n");
}

int attn_cmd_info(int argc, char **argv) {
  int measure = 0, json = 0, wants_help = 0, files;
  const struct attn_cli_option table[] = {{"--measure", OPTION_FLAG, &measure, NULL},
                                          {"--json", OPTION_FLAG, &json, NULL},
                                          {"--help", OPTION_FLAG, &wants_help, NULL},
                                          {"-h", OPTION_FLAG, &wants_help, NULL}};
  if (attn_cli_options(argc, argv, table, 4, &files)) return EXIT_TROUBLE;
  if (wants_help) return fputs(help, stdout), EXIT_FINE;
  if (files) return print_files(argv + 1, files, json);
  attn_machine machine = {.struct_size = sizeof machine};
  double gflops = 0, gbytes = 0;
  attn_machine_query(&machine);
  if (measure && attn_machine_measure(&gflops, &gbytes)) {
    fprintf(stderr, "attn info: cannot measure: no memory, or ATTN_ISA names no instruction set\n");
    return EXIT_TROUBLE;
  }
  (json ? print_json : print_text)(&machine, gflops, gbytes);
  return EXIT_FINE;
}
