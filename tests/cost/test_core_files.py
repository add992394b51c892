"""Files of cores: what they extend, and one clear error for whatever should not stand in them."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rvsim.core_files import clock_of, core_names
from rvsim.cost import Core, describe, load_core
from rvsim.cost.classes import SCALAR_CLASSES, VECTOR_CLASSES, Situation, read_vector
from rvsim.cost.core import SECTIONS
from rvsim.cost.schema import Number, entries
from rvsim.errors import RvsimError
from rvsim.profiles import profiles
from tools import core_schema
from tools.manifest import stale

SURE = 'source = "s"\nconfidence = "guessed"\n'


@pytest.fixture
def core(tmp_path: Path) -> object:
    """Loads a core from the text of its file."""

    def load(text: str, name: str = "mine.toml") -> Core:
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return load_core(str(path))

    return load


# -- extending


def test_numbers_that_do_not_stand_there_are_those_of_the_other_core(core) -> None:
    x60, mine = load_core("x60"), core(f'extends = "x60"\n[l1d]\n{SURE}size = 65536')
    assert (mine.l1d.size, mine.l1d.ways, mine.l2) == (65536, x60.l1d.ways, x60.l2)
    assert mine.vector == x60.vector
    assert mine.name.endswith("mine.toml")


def test_a_class_stands_in_place_of_that_of_the_other_core(core) -> None:
    """With none of its cases; classes that are like it follow."""
    table = f"[vector.vmul]\n{SURE}latency = 9\noccupancy = 3"
    mine, x60 = core(f'extends = "x60"\n{table}'), load_core("x60")
    wide = Situation(name="vmul", sew=64, masked=True)
    assert (mine.vector["vmul"].cases, mine.vector["vmul"].at(wide).latency.base) == ((), 9)
    assert mine.vector["vmac"].base == mine.vector["vmul"].base
    assert len(mine.vector["vmac"].cases) < len(x60.vector["vmac"].cases)


def test_a_class_that_is_like_itself_adds_cases(core) -> None:
    mine = core('extends = "x60"\n[vector.vmul]\nlike = "vmul"\ncases = [{ sew = 8, latency = 9 }]')
    x60 = load_core("x60")
    assert mine.vector["vmul"].base == x60.vector["vmul"].base
    assert mine.vector["vmul"].cases[:-1] == x60.vector["vmul"].cases
    assert mine.vector["vmul"].at(Situation(name="vmul", sew=8)).latency.base == 9
    assert mine.vector["vmul"].at(Situation(name="vmul", sew=16)).latency.base == 4


def test_a_core_beside_the_file_may_be_extended(core) -> None:
    core(f'extends = "x60"\n[issue]\n{SURE}width = 3', "first.toml")
    found = core(f'extends = "first"\n[queue]\n{SURE}depth = 5', "second.toml")
    assert (found.issue.width, found.queue.depth) == (3, 5)


# -- what should not stand there


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "lacks the table [clock] with frequency, timer: add it, or extend a core that has it"),
        (f"[clock]\n{SURE}frequency = 1_000_000", "clock lacks timer: add it, or extend a core"),
        ("[l1]\nsize = 3", "unknown table [l1]: did you mean 'l1i'?"),
        ("l1d = 3", "l1d = 3 is no table: write [l1d]"),
        ("[[l1d]]\nsize = 4096", "l1d = [{'size': 4096}] is no table: write [l1d]"),
        ("name = 3", "name = 3 is no text"),
        ("[l1d]\nsize = 4096", "l1d has no source: say where the numbers come from"),
        ('[l1d]\nsource = ""', "l1d has no source: say where the numbers come from"),
        ('[l1d]\nsource = "s"', "l1d has no confidence: it is one of measured, derived, borrowed"),
        ('[l1d]\nsource = "s"\nconfidence = "sure"', "l1d.confidence = 'sure' is not one of"),
        ('[l1d]\nsource = 3\nconfidence = "guessed"', "l1d.source = 3 is no text"),
        (f"[l1d]\n{SURE}sizes = 4096", "unknown entry 'sizes' in l1d: did you mean 'size'?"),
        (f"[l1d]\n{SURE}size = 4097", "l1d.size = 4097 is not a power of two"),
        (f"[l1d]\n{SURE}size = -4096", "l1d.size = -4096 is not a whole number from 1024 to"),
        (f"[l1d]\n{SURE}size = 4096.0", "l1d.size = 4096.0 is not a whole number"),
        (f"[l1d]\n{SURE}ways = true", "l1d.ways = True is not a whole number"),
        (f'[l1d]\n{SURE}size = "4K"', "l1d.size = '4K' is not a whole number"),
        (f"[l1d]\n{SURE}size = 0x{'f' * 9000}", "l1d.size = 0xffffffffffffffffff... is not"),
        (f"[l1d]\n{SURE}size = {{ valu = 3 }}", "unknown entry 'valu' in l1d.size: did you mean"),
        (f'[l1d]\n{SURE}size = {{ source = "s" }}', "l1d.size has no value"),
        (f"[l1d]\n{SURE}size = 1981-05-06", "l1d.size = datetime.date(1981, 5, 6) is not a whole"),
        (f"[dram]\n{SURE}read = nan", "dram.read = nan is not a number from 0 to 10000"),
        (f"[dram]\n{SURE}read = inf", "dram.read = inf is not a number from 0 to 10000"),
        (f"[scalar.allu]\n{SURE}latency = 1", "unknown class [scalar.allu]: did you mean 'alu'?"),
        (f"[scalar.valu]\n{SURE}latency = 1", "unknown class [scalar.valu]: did you mean 'alu'?"),
        (f"[scalar.alu]\n{SURE}", "scalar.alu lacks latency"),
        ("[scalar.alu]\nlatency = 1", "scalar.alu has no source"),
        (f"[scalar.alu]\n{SURE}latency = -1", "scalar.alu.latency = -1 is not a number from 0"),
        (f'[scalar.mul]\n{SURE}latency = 1\nunit = "mull"', "scalar.mul.unit = 'mull' is not one"),
        ('[scalar.alu]\nlike = "mul"', "scalar.alu.like = 'mul' is no vector class"),
        ("scalar = 3", "scalar = 3 is no table"),
        ("[vector]\nvalu = 3", "vector.valu = 3 is no table"),
        (f"[vector.valu]\n{SURE}latency = 1", "vector.valu lacks occupancy: or parts, for a div"),
        (f"[vector.valu]\n{SURE}occupancy = 1", "vector.valu lacks latency"),
        (f"[vector.valu]\n{SURE}occupancy = {{ lmull = 1 }}\nlatency = 1",
         "vector.valu.occupancy: a formula has no term 'lmull': did you mean 'lmul'?"),
        (f"[vector.valu]\n{SURE}occupancy = {{ lmul = inf }}\nlatency = 1",
         "vector.valu.occupancy: lmul = inf is not a number of cycles"),
        (f"[vector.valu]\n{SURE}occupancy = [1]\nlatency = 1",
         "vector.valu.occupancy: [1] is neither a number of cycles nor a formula"),
        (f"[vector.vdiv]\n{SURE}parts = {{ full = 1 }}\nlatency = 1",
         "vector.vdiv.parts lacks one, idle"),
        (f'[vector.valu]\n{SURE}occupancy = 1\nlatency = 1\nresult = "stop"',
         "vector.valu.result = 'stop' is not one of 'step', 'end', 'start'"),
        ('[vector.valu]\nlike = "vmull"', "vector.valu.like = 'vmull': there is no such class"),
        ('[vector.valu]\nlike = "vmul"\n[vector.vmul]\nlike = "valu"', "and none has numbers"),
        ('[vector.valu]\nlike = "vmul"\nlatency = 3', "vector.valu is like vmul, and has latency"),
        (f"[scalar.alu]\n{SURE}latency = 1\ncases = 3", "scalar.alu.cases = 3 is no list"),
        (f"[scalar.alu]\n{SURE}latency = 1\ncases = [3]", "scalar.alu.cases[0] = 3 is no table"),
        (f"[scalar.alu]\n{SURE}latency = 1\ncases = [{{ naem = 'mul' }}]",
         "unknown entry 'naem' in scalar.alu.cases[0]: did you mean 'name'?"),
        (f"[scalar.alu]\n{SURE}latency = 1\ncases = [{{ name = ['addw', 'sh1ad'] }}]",
         "scalar.alu.cases[0].name = 'sh1ad' is not known: did you mean 'sh1add'?"),
        (f"[scalar.alu]\n{SURE}latency = 1\ncases = [{{ sew = 7 }}]",
         "scalar.alu.cases[0].sew = 7 is not one of 8, 16, 32, 64"),
        (f"[scalar.alu]\n{SURE}latency = 1\ncases = [{{ lmul = ['m3'] }}]",
         "scalar.alu.cases[0].lmul = 'm3' is not one of"),
        ('extends = "x61"', "extends = 'x61': there is no such core: did you mean 'x60'?"),
        ('extends = "../x60"', "extends is not the name of a core"),
        ("extends = 60", "extends is not the name of a core"),
        ('extends = "mine"', "mine extends mine: that has no end"),
        ("[l1d", "is no TOML file"),
        ("x = " + "[" * 5000, "is no TOML file"),
        (f"x = {'9' * 5000}", "is no TOML file"),
    ],
)  # fmt: skip
def test_one_error_says_what_is_wrong(core, tmp_path: Path, text: str, message: str) -> None:
    standing = "" if text == "" or "frequency" in text else 'extends = "x60"\n'
    with pytest.raises(RvsimError) as caught:
        core(text if "extends" in text else standing + text)
    assert message in str(caught.value)
    assert str(tmp_path / "mine.toml") in str(caught.value)


def test_a_class_that_is_like_itself_needs_another_core() -> None:
    with pytest.raises(RvsimError, match=r"vector\.valu: valu is like valu, and none has"):
        read_vector("valu", {"valu": {"like": "valu"}})


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ("[vector_unit]\n{}datapath = 512", "vector_unit.datapath = 512 is not from an eighth"),
        ("[vector_unit]\n{}vlen = 4096", "vector_unit.datapath = 128 is not from an eighth"),
        ("[lsu]\n{}beat = 128", "lsu.beat = 128 is more than l1d.line = 64"),
        ("[l1d]\n{}line = 32", "l1d.line and l1i.line differ: set both"),
    ],
)
def test_numbers_that_contradict_each_other(core, numbers: str, message: str) -> None:
    with pytest.raises(RvsimError, match=re.escape(message)):
        core(f'extends = "x60"\n{numbers.format(SURE)}')


def test_files_that_extend_each_other(core, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('extends = "mine"')
    with pytest.raises(RvsimError, match="mine extends other extends mine: that has no end"):
        core('extends = "other"')


def test_a_file_that_is_none(tmp_path: Path) -> None:
    endless = tmp_path / "core.toml"
    endless.symlink_to("/dev/zero")
    large = tmp_path / "large.toml"
    large.write_text("#" * (1 << 21))
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\0")
    for path in (endless, large, binary, tmp_path, tmp_path / "no.toml", Path("a\0.toml")):
        name = str(path) if path.suffix else f"{path}/.toml"
        with pytest.raises(RvsimError, match=r"can't read|is no TOML"):
            load_core(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "Mine"', "has 'name': it is a core: give --core"),
        ("[vector.valu]\ncases = []", "vector.valu.cases = [] is no number"),
        ("[l1d]\nsiz = 65536", "unknown number 'l1d.siz' of a core: did you mean 'l1d.size'?"),
        ("l1d = 3", "unknown number 'l1d' of a core"),
    ],
)
def test_files_that_set_numbers(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "set.toml"
    path.write_text(text)
    with pytest.raises(RvsimError, match=re.escape(message)):
        load_core("x60", [str(path)])


KEYS = st.sampled_from(["l1d", "size", "extends", "vector", "valu", "latency", "cases", "x"])
VALUES = st.recursive(
    st.none() | st.integers() | st.floats() | st.booleans() | st.text('a1"\n\0é', max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=4,
)


def as_toml(value: object) -> str:
    match value:
        case None:
            return "1979-05-27"
        case bool():
            return str(value).lower()
        case dict():
            return f"{{ {', '.join(f'{k} = {as_toml(v)}' for k, v in value.items())} }}"
        case list():
            return f"[{', '.join(map(as_toml, value))}]"
        case str():
            return '"' + "".join(f"\\U{ord(c):08x}" for c in value) + '"'
    return str(value)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(st.sampled_from([*SECTIONS, "scalar", "vector", "name"]), VALUES, max_size=3)
)
def test_whatever_stands_there_no_other_error_comes(
    tmp_path_factory: pytest.TempPathFactory, tables: dict[str, object]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    lines = [f"{key} = {as_toml(value)}" for key, value in tables.items()]
    path.write_text("\n".join(['extends = "x60"', *lines]), "utf-8", "surrogatepass")
    with suppress(RvsimError):
        assert load_core(str(path)).l2 == load_core("x60").l2 or "l2" in tables


# -- what follows from the declarations


def test_the_template_and_the_reference_are_fresh() -> None:
    assert not stale(core_schema.TEMPLATE, core_schema.template(), core_schema.__file__)
    assert not stale(core_schema.REFERENCE, core_schema.reference(), core_schema.__file__)


def test_the_template_loads_when_it_is_filled_in(core) -> None:
    """Each blank with the least that its line allows, each line without its ``#``."""
    text = core_schema.TEMPLATE.read_text("utf-8")
    text = text.replace('source = ""', 'source = "test"').replace(
        'confidence = ""', 'confidence = "guessed"'
    )
    filled = re.sub(r"^#(\w+) =  # .*? from (-?\d+) to .*$", r"\1 = \2", text, flags=re.M)
    filled = re.sub(r"^#(\w+ = \{ .*\})$", r"\1", filled, flags=re.M)
    filled = filled.replace("occupancy = ,", "occupancy = 2,").replace(
        "latency = ,", "latency = 3,"
    )
    found = core(filled)
    assert set(found.scalar) == set(SCALAR_CLASSES)
    assert set(found.vector) == set(VECTOR_CLASSES)
    for name, section in SECTIONS.items():
        for key, entry in entries(section).items():
            assert isinstance(entry, Number)
            assert getattr(getattr(found, name), key) == entry.low


def test_an_empty_template_says_what_to_fill_in(core) -> None:
    with pytest.raises(RvsimError, match="clock has no source"):
        core(core_schema.TEMPLATE.read_text("utf-8"))


def test_every_core_of_rvsim_loads_and_every_profile_has_a_clock() -> None:
    for name in core_names():
        loaded = load_core(name)
        assert (clock_of(name).frequency, clock_of(name).timer) == (
            loaded.clock.frequency, loaded.clock.timer,
        )  # fmt: skip
        assert all(source for _, _, source, _ in describe(name))
    for cpu in profiles():
        assert cpu.core in ("", *core_names())
        assert cpu.rates.frequency > cpu.rates.timer > 0
