"""Random functions of C that copy their arguments to memory, and return what they find there."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

NUMBERS = (
    *("_Bool", "char", "signed char", "unsigned char", "short", "unsigned short"),
    *("int", "unsigned", "long", "unsigned long", "__int128", "unsigned __int128"),
    *("enum color", "void *", "const long *", "float", "double", "long double"),
    *("_Complex float", "_Complex double", "vector4", "vector2"),
)
HALVES = ("_Float16", "__bf16")
VARIADIC = (
    *("int", "unsigned", "long", "unsigned long", "__int128", "void *", "double", "long double"),
    *("_Complex float", "vector4"),
)
WIDE = ("128", "long double", "vector4", "struct s", "union s")
"""What may need 16 bytes of alignment: no debug information says whether `packed` takes it away."""

PACKED, ALIGNED = "__attribute__((packed))", "__attribute__((aligned(16)))"
BIT_FIELDS = ("int", "unsigned", "long", "unsigned char", "_Bool", "short")

PROLOGUE = """
#include <stdarg.h>
enum color { RED = -1, GREEN = 5 };
typedef float vector4 __attribute__((vector_size(16)));
typedef short vector2 __attribute__((vector_size(4)));
#define EACH 2048
char out[24 * EACH];
char in[EACH];
#define PUT(value) (__builtin_memcpy(out + at, &value, sizeof value), at += EACH)
void _start(void) { for (;;) { } }
void *memcpy(void *to, const void *from, unsigned long n) {
  for (unsigned long i = 0; i < n; i++) ((volatile char *)to)[i] = ((const char *)from)[i];
  return to;
}
void *memmove(void *to, const void *from, unsigned long n) {
  if (to < from) return memcpy(to, from, n);
  while (n--) ((volatile char *)to)[n] = ((const char *)from)[n];
  return to;
}
"""


@dataclass
class Signatures:
    """Functions, and the structures that they use; `source` is the whole of it."""

    random: random.Random
    numbers: tuple[str, ...]
    attributes: tuple[str, ...]
    parts: list[str] = field(default_factory=lambda: [PROLOGUE])
    structures: list[str] = field(default_factory=list)
    flat: list[str] = field(default_factory=list)
    """Structures without structures in them, and not empty."""

    names: list[str] = field(default_factory=list)
    variadic: dict[str, str] = field(default_factory=dict)
    """Of variadic functions, one that takes the types of their variadic arguments by name."""

    @property
    def source(self) -> str:
        return "\n".join(self.parts)

    def add_structure(self) -> None:
        """One of 0 to 4 members, few of them, so that registers are in question."""
        pick = self.random
        kind = "union" if pick.random() < 0.12 else "struct"
        fewest = int(kind == "union")  # GCC does not take structures with empty unions apart
        count = pick.choice((fewest, 1, 1, 2, 2, 2, 3, 4))
        members = " ".join(self._member(n) for n in range(count))
        # Clang has its own way with bits that share an aligned word with a floating-point number.
        if ":" in members and any(kind in members for kind in (*HALVES, "long m", *WIDE)):
            members = re.sub(r" : \d+", "", members)
        attribute = pick.choice(("",) * 6 + self.attributes)
        if attribute == PACKED and any(wide in members for wide in (*WIDE, ":")):
            attribute = ""
        name = f"{kind} s{len(self.structures)}"
        self.parts.append(f"{name} {{ {members} }} {attribute};")
        self.structures.append(name)
        # GCC 12 does not take structures with arrays of empty ones apart either.
        if members and "struct s" not in members and "union s" not in members:
            self.flat.append(name)

    def _member(self, number: int) -> str:
        pick = self.random
        if pick.random() < 0.15:
            kind = pick.choice(BIT_FIELDS)
            most = {"_Bool": 1, "unsigned char": 8, "short": 16, "long": 40}.get(kind, 31)
            return f"{kind} m{number} : {pick.randint(1, most)};"
        if self.flat and pick.random() < 0.25:
            kind = pick.choice(self.flat)
        else:
            kind = pick.choice((*self.numbers, "float", "double", "float", "int"))
        length = pick.choice(("",) * 8 + ("[1]", "[2]", "[3]"))
        aligned = pick.choice(("",) * 12 + ("__attribute__((aligned(8)))",))
        return f"{kind} m{number}{length} {aligned};"

    def _type(self) -> str:
        pick = self.random
        return pick.choice(self.structures if pick.random() < 0.45 else self.numbers)

    def add_function(self) -> None:
        pick, name = self.random, f"f{len(self.names)}"
        types = [self._type() for _ in range(pick.choice((1, 2, 3, 4, 6, 9, 12)))]
        result = pick.choice((self._type(), "void"))
        self.parts.append(f"{result} {name}({_listed(types)}) {{")
        self._body(types, [], result)
        self.names.append(name)

    def add_variadic(self) -> None:
        pick, name = self.random, f"f{len(self.names)}"
        types = [self._type() for _ in range(pick.choice((1, 2, 3, 8)))]
        more = [
            pick.choice(self.structures if pick.random() < 0.4 else VARIADIC)
            for _ in range(pick.choice((1, 2, 3, 7)))
        ]
        result = self._type()
        self.parts.append(f"void {name}_types({_listed(more)}) {{ }}")
        self.parts.append(f"{result} {name}({_listed(types)}, ...) {{")
        self._body(types, more, result)
        self.names.append(name)
        self.variadic[name] = f"{name}_types"

    def _body(self, types: list[str], more: list[str], result: str) -> None:
        lines = ["  int at = 0;", *(f"  PUT(a{n});" for n in range(len(types)))]
        if more:
            lines.append(f"  va_list list; va_start(list, a{len(types) - 1});")
        lines += [f"  {{ {kind} v = va_arg(list, {kind}); PUT(v); }}" for kind in more]
        if result != "void":
            lines.append(f"  {result} r; __builtin_memcpy(&r, in, sizeof r); return r;")
        self.parts += [*lines, "}"]


def _listed(types: list[str]) -> str:
    return ", ".join(f"{kind} a{number}" for number, kind in enumerate(types))


def signatures(
    seed: int, functions: int, numbers: tuple[str, ...], attributes: tuple[str, ...]
) -> Signatures:
    """A file of so many functions, every fourth of them variadic."""
    made = Signatures(random.Random(seed), numbers, attributes)
    for _ in range(functions // 2):
        made.add_structure()
    for number in range(functions):
        if number % 4 == 3:
            made.add_variadic()
        else:
            made.add_function()
    return made


def lines_of(source: str, name: str) -> Iterator[str]:
    """The function of a name and the structures, for a failure."""
    for part in source.splitlines():
        if part.startswith(("struct ", "union ")) or f" {name}(" in part:
            yield part
