#!/usr/bin/env python3
"""Writes a C program that knows the layout of every struct of the headers and the value of every enumerator.

usage: abi_layout.py HEADER... OUT.c. The program takes the file the layout was kept in and compares; with --update before
the file's name it writes the file anew, which is right after something was appended and never otherwise.
"""
import re
import sys

PROGRAM = r"""/* Made by abi_layout.py. */
#include <stdio.h>
#include <string.h>
#include <tessera/plugin.h>
#include <tessera/tessera.h>

static char now[1 << 16], kept[1 << 16];
static size_t used = 0;
#define SAY(...) used += (size_t)snprintf(now + used, sizeof now - used, __VA_ARGS__)
#define STRUCT(type) SAY(#type " %zu\n", sizeof(type))
#define FIELD(type, field) SAY("  " #type "." #field " %zu %zu\n", offsetof(type, field), sizeof(((type *)0)->field))
#define VALUE(name) SAY(#name " %d\n", (int)name)

static void say(void) {
@SAY@}

int main(int argc, char **argv) {
  FILE *file;
  int update = argc == 3 && strcmp(argv[1], "--update") == 0;
  if (argc < 2) return 2;
  say();
  if (update) return (file = fopen(argv[2], "w")) && fwrite(now, 1, used, file) == used && !fclose(file) ? 0 : 2;
  if (!(file = fopen(argv[1], "r"))) return 2;
  kept[fread(kept, 1, sizeof kept - 1, file)] = 0;
  fclose(file);
  if (strcmp(now, kept) == 0) return 0;
  fprintf(stderr, "the ABI is not what %s says. What may only be appended: fields, enumerators, structs; then run "
                  "%s --update %s and raise TSR_ABI_MINOR. Now:\n%s", argv[1], argv[0], argv[1], now);
  return 1;
}
"""


def fields(body):
    """The names of a struct's fields, in order."""
    for declaration in body.split(";"):
        declaration = re.sub(r"\[[^\]]*\]", "", declaration).strip()
        if not declaration:
            continue
        function = re.search(r"\(\*(\w+)\)\s*\(", declaration)
        if function:
            yield function.group(1)
        else:
            for one in declaration.split(","):
                yield re.search(r"(\w+)\s*$", one).group(1)


def statements(header):
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    for body, name in re.findall(r"typedef struct \w*\s*\{(.*?)\}\s*(\w+);", text, re.S):
        yield f"STRUCT({name});"
        for field in fields(body):
            yield f"FIELD({name}, {field});"
    for body in re.findall(r"enum\s*\{(.*?)\}", text, re.S):
        for name in re.findall(r"\b(TSR_\w+)\s*=", body):
            yield f"VALUE({name});"


lines = []
for name in sys.argv[1:-1]:
    with open(name, encoding="utf-8") as file:
        lines += statements(file.read())
if len(lines) < 50:
    sys.exit("abi_layout.py: the header was not understood")
with open(sys.argv[-1], "w", encoding="utf-8") as file:
    file.write(PROGRAM.replace("@SAY@", "".join(f"  {line}\n" for line in lines)))
