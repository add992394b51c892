"""Types of C as clang and GCC describe them in DWARF 4 and 5, and files that are damaged."""

from __future__ import annotations

import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from rvsim.errors import RvsimError
from rvsim.guest.c_types import (
    VOID,
    Array,
    Enumeration,
    Field,
    Float,
    Function,
    Integer,
    Pointer,
    Structure,
    Vector,
)
from rvsim.guest.debug_types import DebugTypes
from rvsim.guest.sections import Sections, open_elf
from rvsim.verifier.abi import plan_of
from tests.program import libc_programs
from tests.program.libc_programs import require_cross
from tests.work import at_most

SOURCE = """
typedef signed char int8;
typedef struct node { struct node *next; int v; } node;
struct opaque;
enum color { RED = 1, GREEN, BLUE = -7 };
typedef enum { OFF, ON } mode_t_;
typedef struct {
  float scale; unsigned a : 3, b : 5; int : 4; int c : 9;
  union { int i; float f; } u;
  char name[16]; short last[];
} params;
typedef struct { char c; long n; } __attribute__((packed)) packed_t;
typedef struct { char c; } __attribute__((aligned(16))) wide_t;
int table[4][8] = {{1}};
params shared = {1};
typedef int (*callback)(void *, long);
int sum(const node *n) { int s = 0; for (; n; n = n->next) s += n->v; return s; }
double mixed(const int8 *a, char *restrict s, const int (*rows)[8], volatile enum color c,
             params *p, callback f, _Bool q, __int128 w, long double l, _Complex float z,
             struct opaque *o, mode_t_ m, packed_t t, wide_t y, void **v) {
  return p->scale + f(0, table[1][2]);
}
void several(const char *format, ...) { }
float unnamed(int, float);
static int helper(int n) { return n + 1; }
void _start(void) { shared.u.i = helper(table[0][0]); }
"""
ZIG = (sys.executable, "-m", "ziglang", "cc", "-target", "riscv64-freestanding", "-O1")
GCC = (libc_programs.GCC, "-O1")
KINDS = {
    **{"clang, DWARF 5": (*ZIG, "-gdwarf-5"), "clang, DWARF 4": (*ZIG, "-gdwarf-4")},
    **{"gcc, DWARF 5": (*GCC, "-gdwarf-5"), "gcc, DWARF 4": (*GCC, "-gdwarf-4")},
}
MANY_CALLS = 20_000_000


def compiled(folder: Path, command: tuple[str, ...], source: str, name: str = "t.c") -> bytes:
    if command[0] == libc_programs.GCC:
        require_cross()
    (folder / name).write_text(source)
    flags = ("-w", "-nostdlib", "-static", name, "-o", "t.elf")
    done = subprocess.run(
        [*command, *flags], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return (folder / "t.elf").read_bytes()


def types_of(content: bytes) -> DebugTypes:
    return DebugTypes(Sections(open_elf(content)).content)


@pytest.fixture(scope="module", params=KINDS)
def types(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> DebugTypes:
    folder = tmp_path_factory.mktemp("types")
    return types_of(compiled(folder, KINDS[request.param], SOURCE))


def parameters(types: DebugTypes, name: str) -> dict[str, object]:
    function = types.function(name)
    assert function is not None, types.why_unknown
    return {p.name: p.type for p in function.parameters}


def test_a_list_points_to_itself(types: DebugTypes) -> None:
    node = types.named("node")
    assert isinstance(node, Structure)
    assert (node.name, node.size, node.alignment) == ("node", 16, 8)
    assert node.fields[0] == Field("next", Pointer(node), 0)
    assert parameters(types, "sum") == {"n": Pointer(node, const=True)}


def test_parameters_have_their_types(types: DebugTypes) -> None:
    found = parameters(types, "mixed")
    assert found["a"] == Pointer(Integer("signed char", 1, True), const=True)
    assert found["s"] == Pointer(Integer("char", 1, False))
    assert found["rows"] == Pointer(Array(Integer("int", 4, True), 8), const=True)
    assert found["c"] == Enumeration("color", 4, True, {"RED": 1, "GREEN": 2, "BLUE": -7})
    assert found["p"] == Pointer(types.named("params"))
    callback = found["f"]
    assert isinstance(callback, Pointer)
    assert isinstance(callback.target, Function)
    assert [p.type.size for p in callback.target.parameters] == [8, 8]
    assert found["q"] == Integer("_Bool", 1, False)
    assert found["w"] == Integer("__int128", 16, True)
    assert found["l"] == Float("long double", 16, "f128")
    assert isinstance(found["z"], Structure)
    assert [f.type for f in found["z"].fields] == [Float("float", 4, "f32")] * 2
    assert isinstance(found["m"], Enumeration)
    assert (found["m"].name, found["m"].signed) == ("mode_t_", False)
    assert found["v"] == Pointer(Pointer(VOID))
    opaque = found["o"]
    assert isinstance(opaque, Pointer)
    assert isinstance(opaque.target, Structure)
    assert (opaque.target.name, opaque.target.fields) == ("opaque", ())


def test_structures_have_offsets_bits_and_alignments(types: DebugTypes) -> None:
    params = types.named("params")
    assert isinstance(params, Structure)
    assert (params.name, params.size, params.alignment) == ("params", 28, 4)
    places = {f.name: (f.offset, f.bit_offset, f.bit_size) for f in params.fields}
    assert places == {
        **{"scale": (0, None, None), "a": (4, 0, 3), "b": (4, 3, 5), "c": (5, 4, 9)},
        **{"u": (8, None, None), "name": (12, None, None), "last": (28, None, None)},
    }
    last = params.fields[-1].type
    assert isinstance(last, Array)
    assert last.count in (None, 0)
    packed, wide = types.named("packed_t"), types.named("wide_t")
    assert isinstance(packed, Structure)
    assert isinstance(wide, Structure)
    assert (packed.size, packed.alignment, wide.size, wide.alignment) == (9, 1, 16, 16)


def test_variables_and_functions_are_found(types: DebugTypes) -> None:
    integer = Integer("int", 4, True)
    assert types.variable("table") == Array(Array(integer, 8), 4)
    assert types.variable("shared") is types.named("params")
    assert types.variable("nothing") is None
    several = types.function("several")
    assert several is not None
    assert several.is_variadic
    assert types.function("nothing") is None
    assert types.function_at(8) is None
    assert {"node", "params", "color", "callback"} <= set(types.names())
    with pytest.raises(RvsimError, match="did you mean 'params'"):
        types.named("param")
    assert types.why_unknown is None


VECTORS = """
#include <riscv_vector.h>
vint32m2_t f(vint32m2_t a, vbool16_t m, vint8mf2x3_t t, vfloat64m1_t x, size_t vl) { return a; }
void _start(void) { }
"""


def test_vectors_have_names_that_say_what_they_are(tmp_path: Path) -> None:
    content = compiled(tmp_path, (*ZIG, "-g", "-mcpu=generic_rv64+v+d"), VECTORS)
    found = parameters(types_of(content), "f")
    assert list(found.values())[:4] == [
        *(Vector("vint32m2_t", 32, 1), Vector("vbool16_t", 1, -4)),
        *(Vector("vint8mf2x3_t", 8, -1, 3), Vector("vfloat64m1_t", 64, 0)),
    ]


CLASSES = """
struct Base { int a; Base(const Base &); };
struct Derived : Base { float f; static int s; };
namespace outer { struct Pair { float x, y; int m() const { return x; } };
                  float dot(const Pair &a, Pair b) { return a.x * b.x; } }
extern "C" float kernel(outer::Pair *p, float Derived::*member, bool b) { return p->x; }
extern "C" int by_reference(Derived d) { return d.a; }
extern "C" void _start(void) { }
"""


def test_what_is_not_of_c_is_not_known_or_as_c_has_it(tmp_path: Path) -> None:
    command = tuple("c++" if word == "cc" else word for word in ZIG)
    types = types_of(compiled(tmp_path, (*command, "-gdwarf-5"), CLASSES, "t.cc"))
    dot = types.function("dot")
    assert dot is not None
    assert dot == types.function("_ZN5outer3dotERKNS_4PairES0_")
    pair = types.named("Pair")
    assert [p.type for p in dot.parameters] == [Pointer(pair, const=True), pair]
    derived = types.named("Derived")
    assert isinstance(derived, Structure)
    assert [(f.name, f.offset) for f in derived.fields] == [("", 0), ("f", 4)]
    assert types.function("by_reference") is None
    assert types.why_unknown is not None
    assert "passed as C++ says" in types.why_unknown
    assert types.function("kernel") is None


NAMES = ("info", "abbrev", "str", "line_str", "str_offsets", "addr", "ranges", "rnglists")


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_told_and_costs_little(kind: str, tmp_path: Path) -> None:
    sections = Sections(open_elf(compiled(tmp_path, KINDS[kind], SOURCE)))
    whole = {f".debug_{name}": sections.content(f".debug_{name}") for name in NAMES}
    for _ in range(60):
        damaged = {name: bytearray(content) for name, content in whole.items()}
        for _ in range(random.choice((1, 1, 2, 8, 30))):
            content = damaged[random.choice((".debug_info", ".debug_info", ".debug_abbrev"))]
            content[random.randrange(len(content))] = random.choice((0, 1, 128, 255))
        with at_most(MANY_CALLS):
            ask_all({name: bytes(content) for name, content in damaged.items()})


def ask_all(sections: dict[str, bytes]) -> None:
    types = DebugTypes(lambda name: sections.get(name, b""))
    for name in ("sum", "mixed", "several", "unnamed", "helper", "_start", "table"):
        function = types.function(name)
        if function is not None:
            plan_of(function)
        types.variable(name)
    for name in [*types.names(), "nothing"]:
        with suppress(RvsimError):
            types.named(name)
