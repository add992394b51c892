"""Zicond, integer conditional operations."""

from __future__ import annotations

from rvsim import ir
from rvsim.insn.base.rv_forms import register_form

register_form("czero.eqz", "0000111 101", lambda rs1, rs2: ir.where(rs2 == 0, 0, rs1),
              ext="zicond", spec="Zicond")  # fmt: skip
register_form("czero.nez", "0000111 111", lambda rs1, rs2: ir.where(rs2 != 0, 0, rs1),
              ext="zicond", spec="Zicond")  # fmt: skip
