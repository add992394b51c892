"""Reads a Kanata log by its written grammar, version 4: what is not in it is refused."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Instruction:
    """`stages` are (lane, name, first cycle, cycle behind it)."""

    number: int
    label: str = ""
    details: str = ""
    stages: list[tuple[int, str, int, int]] = field(default_factory=list)
    running: dict[int, tuple[str, int]] = field(default_factory=dict)
    retired: int | None = None

    def end(self, lane: int, cycle: int) -> None:
        if lane in self.running:
            name, start = self.running.pop(lane)
            self.stages.append((lane, name, start, cycle))

    def stage(self, name: str) -> tuple[int, int]:
        """(first cycle, cycle behind it) of the only stage of that name."""
        ((start, end),) = [(s, e) for _, n, s, e in self.stages if n == name]
        return start, end


def read_kanata(text: str) -> list[Instruction]:
    """The instructions of a log, in order."""
    first, *lines = text.removesuffix("\n").split("\n")
    assert first == "Kanata\t0004"
    found: list[Instruction] = []
    cycle: int | None = None
    for line in lines:
        command, *values = line.split("\t")
        match command, values:
            case "C=", [start]:
                assert cycle is None
                cycle = int(start)
            case "C", [elapsed]:
                assert cycle is not None
                assert int(elapsed) > 0
                cycle += int(elapsed)
            case "I", [number, _, "0"]:
                assert int(number) == len(found)
                found.append(Instruction(int(number)))
            case "L", [number, "0", label]:
                _alive(found, number).label += label
            case "L", [number, "1", details]:
                _alive(found, number).details += details
            case "S", [number, lane, name]:
                assert cycle is not None
                _alive(found, number).end(int(lane), cycle)
                found[int(number)].running[int(lane)] = name, cycle
            case "E", [number, lane, name]:
                assert cycle is not None
                assert _alive(found, number).running[int(lane)][0] == name
                found[int(number)].end(int(lane), cycle)
            case "R", [number, order, "0"]:
                assert cycle is not None
                assert order == number, "in the order of the program"
                for lane in list(_alive(found, number).running):
                    found[int(number)].end(lane, cycle)
                found[int(number)].retired = cycle
            case _:
                raise AssertionError(f"no command of the format: {line!r}")
    assert all(insn.retired is not None for insn in found)
    return found


def _alive(found: list[Instruction], number: str) -> Instruction:
    insn = found[int(number)]
    assert insn.retired is None
    return insn
