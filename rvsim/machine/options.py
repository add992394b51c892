"""The options of a run: what the command line and Python say alike."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from rvsim.config import Config, Reserved, SyscallVector, UserCounters, VlPolicy
from rvsim.errors import RvsimError, did_you_mean
from rvsim.hart.initial import Initial
from rvsim.host.processor import check_host
from rvsim.profiles import DEFAULT_CPU, make_config, one_of

if TYPE_CHECKING:
    from rvsim.cost import Core

ENGINES: Final = ("numpy", "jit")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What a machine is, and how it runs.

    Of the hart:

    - `cpu`: its profile (`rvsim list cpus`).
    - `isa`: its extensions, if not those of the profile, as Spike spells them.
    - `vlen`: bits of a vector register, if not those of the profile.
    - `cost`: the core whose cycles are counted, or its name; None counts none.

    Policies, which stand for what a right program does not depend on:

    - `agnostic`: what agnostic elements become: undisturbed, ones, or random:SEED.
    - `vl_policy`: vl for VLMAX < AVL < 2 * VLMAX: max or half.
    - `reduction_order`: order of unordered floating-point sums: sequential, tree, or random:SEED.
    - `initial`: what registers and unused stack hold at first: zero, ones, or random:SEED.

    What is by default as on a K1 with Linux 6.6, or stricter:

    - `reserved`: reserved uses trap, or are executed with a note where their meaning is plain.
    - `user_counters`: whether a program may read cycle and instret: allow (with a note), or trap.
    - `syscall_vector`: whether a system call discards vector state: discard or keep.

    Of the engines:

    - `engine`: jit, which compiles hot code, or numpy, the reference.
    - `host`: what is compiled for (`rvsim.host.processor`); None becomes RVSIM_HOST,
      else this machine.
    - `cache`: whether compiled code is kept for the next run, in the user's cache folder.
    - `host_float`: whether the host computes floating point where it is exact.
    - `memory_size`: bytes that the guest's memory may have; a multiple of a page.

    What is kept of the run:

    - `statistics`: whether executions, and the bytes that they move, are counted.
    - `trace`: whether the times of instructions are kept for `RunResult.trace`: of all, or of a
      range of their numbers.
    """

    cpu: str = DEFAULT_CPU
    isa: str | None = None
    vlen: int | None = None
    cost: str | Core | None = None
    agnostic: str = "undisturbed"
    vl_policy: VlPolicy = "max"
    reduction_order: str = "sequential"
    initial: str = "zero"
    reserved: Reserved = "trap"
    user_counters: UserCounters = "allow"
    syscall_vector: SyscallVector = "discard"
    engine: Literal["jit", "numpy"] = "jit"
    host: str | None = None
    cache: bool = True
    host_float: bool = True
    memory_size: int = 4 << 30
    statistics: bool = False
    trace: bool | range = False

    def __post_init__(self) -> None:
        one_of("engine", self.engine, ENGINES)
        one_of("syscall vector policy", self.syscall_vector, ("discard", "keep"))
        object.__setattr__(self, "host", check_host(self.host))
        Initial.parse(self.initial)
        self.config()

    def config(self) -> Config:
        """The configuration of a hart."""
        return make_config(
            self.cpu,
            isa=self.isa,
            vlen=self.vlen,
            agnostic=self.agnostic,
            vl_policy=self.vl_policy,
            reserved=self.reserved,
            user_counters=self.user_counters,
            reduction_order=self.reduction_order,
            host_float=self.host_float,
        )

    def but(self, **changes: Any) -> RunOptions:
        """These options with some changed; `RvsimError` for one that there is not.

        >>> RunOptions().but(vlen=512).config().vlen
        512
        """
        for name in changes:
            if name not in OPTION_NAMES:
                raise RvsimError(
                    f"there is no option {name}", hint=did_you_mean(name, OPTION_NAMES)
                )
        return replace(self, **changes)


OPTION_NAMES: Final = tuple(field.name for field in fields(RunOptions))
