"""C, compressed instructions, without floating point (Zca); and Zcb.

Each is the expansion it names.  What the manual calls a HINT executes as its expansion does, which
writes x0.  Encodings that are reserved match nothing.
"""

from __future__ import annotations

from functools import partial

from rvsim.insn.registry import compressed

SP = 2

# C 3  Loads and stores
c = partial(compressed, ext="c zca", spec="C 3")
c("c.lwsp rd, uimm(sp)", "010 uimm[5] rd uimm[4:2|7:6] 10", "lw", rs1=SP, imm="uimm", unless="rd=0")
c("c.ldsp rd, uimm(sp)", "011 uimm[5] rd uimm[4:3|8:6] 10", "ld", rs1=SP, imm="uimm", unless="rd=0")
c("c.swsp rs2, uimm(sp)", "110 uimm[5:2|7:6] rs2 10", "sw", rs1=SP, imm="uimm")
c("c.sdsp rs2, uimm(sp)", "111 uimm[5:3|8:6] rs2 10", "sd", rs1=SP, imm="uimm")
c("c.lw rd, uimm(rs1)", "010 uimm[5:3] rs1' uimm[2|6] rd' 00", "lw", imm="uimm")
c("c.ld rd, uimm(rs1)", "011 uimm[5:3] rs1' uimm[7:6] rd' 00", "ld", imm="uimm")
c("c.sw rs2, uimm(rs1)", "110 uimm[5:3] rs1' uimm[2|6] rs2' 00", "sw", imm="uimm")
c("c.sd rs2, uimm(rs1)", "111 uimm[5:3] rs1' uimm[7:6] rs2' 00", "sd", imm="uimm")

# C 4  Control transfer
c = partial(compressed, ext="c zca", spec="C 4")
c("c.j target", "101 imm[11|4|9:8|10|6|7|3:1|5] 01", "jal", rd=0)
c("c.beqz rs1, target", "110 imm[8|4:3] rs1' imm[7:6|2:1|5] 01", "beq", rs2=0)
c("c.bnez rs1, target", "111 imm[8|4:3] rs1' imm[7:6|2:1|5] 01", "bne", rs2=0)
c("c.jr rs1", "100 0 rs1 00000 10", "jalr", rd=0, imm=0, unless="rs1=0")
c("c.jalr rs1", "100 1 rs1 00000 10", "jalr", rd=1, imm=0, unless="rs1=0")

# C 5  Integer computation
c = partial(compressed, ext="c zca", spec="C 5")
c("c.li rd, imm", "010 imm[5] rd imm[4:0] 01", "addi", rs1=0)
c("c.lui rd, uimm", "011 imm[5] rd imm[4:0] 01", "lui", uimm="imm", unless="imm=0 rd=2")
c("c.nop", "000 0 00000 00000 01", "addi", rd=0, rs1=0, imm=0)
c("c.addi rd, imm", "000 imm[5] rd imm[4:0] 01", "addi", rs1="rd")
c("c.addiw rd, imm", "001 imm[5] rd imm[4:0] 01", "addiw", rs1="rd", unless="rd=0")
c("c.addi16sp sp, imm", "011 imm[9] 00010 imm[4|6|8:7|5] 01", "addi", rd=SP, rs1=SP, unless="imm=0")
c("c.addi4spn rd, sp, uimm", "000 uimm[5:4|9:6|2|3] rd' 00", "addi", rs1=SP, imm="uimm",
  unless="uimm=0")  # fmt: skip
c("c.slli rd, shamt", "000 shamt[5] rd shamt[4:0] 10", "slli", rs1="rd")
c("c.srli rd, shamt", "100 shamt[5] 00 rd' shamt[4:0] 01", "srli", rs1="rd")
c("c.srai rd, shamt", "100 shamt[5] 01 rd' shamt[4:0] 01", "srai", rs1="rd")
c("c.andi rd, imm", "100 imm[5] 10 rd' imm[4:0] 01", "andi", rs1="rd")
c("c.mv rd, rs2", "100 0 rd rs2 10", "add", rs1=0, unless="rs2=0")
c("c.add rd, rs2", "100 1 rd rs2 10", "add", rs1="rd", unless="rs2=0")
c("c.and rd, rs2", "100 0 11 rd' 11 rs2' 01", "and", rs1="rd")
c("c.or rd, rs2", "100 0 11 rd' 10 rs2' 01", "or", rs1="rd")
c("c.xor rd, rs2", "100 0 11 rd' 01 rs2' 01", "xor", rs1="rd")
c("c.sub rd, rs2", "100 0 11 rd' 00 rs2' 01", "sub", rs1="rd")
c("c.addw rd, rs2", "100 1 11 rd' 01 rs2' 01", "addw", rs1="rd")
c("c.subw rd, rs2", "100 1 11 rd' 00 rs2' 01", "subw", rs1="rd")
c("c.ebreak", "100 1 00000 00000 10", "ebreak")

# Zcb  What is one instruction in M, Zba or Zbb needs that extension too
c = partial(compressed, ext="zcb", spec="Zcb")
c("c.lbu rd, uimm(rs1)", "100 000 rs1' uimm[0|1] rd' 00", "lbu", imm="uimm")
c("c.lhu rd, uimm(rs1)", "100 001 rs1' 0 uimm[1] rd' 00", "lhu", imm="uimm")
c("c.lh rd, uimm(rs1)", "100 001 rs1' 1 uimm[1] rd' 00", "lh", imm="uimm")
c("c.sb rs2, uimm(rs1)", "100 010 rs1' uimm[0|1] rs2' 00", "sb", imm="uimm")
c("c.sh rs2, uimm(rs1)", "100 011 rs1' 0 uimm[1] rs2' 00", "sh", imm="uimm")
c("c.zext.b rd", "100 1 11 rd' 11 000 01", "andi", rs1="rd", imm=0xFF)
c("c.sext.b rd", "100 1 11 rd' 11 001 01", "sext.b", rs1="rd", requires="zbb")
c("c.zext.h rd", "100 1 11 rd' 11 010 01", "zext.h", rs1="rd", requires="zbb")
c("c.sext.h rd", "100 1 11 rd' 11 011 01", "sext.h", rs1="rd", requires="zbb")
c("c.zext.w rd", "100 1 11 rd' 11 100 01", "add.uw", rs1="rd", rs2=0, requires="zba")
c("c.not rd", "100 1 11 rd' 11 101 01", "xori", rs1="rd", imm=-1)
c("c.mul rd, rs2", "100 1 11 rd' 10 rs2' 01", "mul", rs1="rd", requires="zmmul")
