"""The tests as on processors that have fewer vector instructions, whose last digits are others: `python -m
tests.processors` runs all that need no browser, or those it is given, once for each kind.

What a processor lacks cannot be taken from it: without AVX-512 the first kind is the processor itself."""

import subprocess
import sys
from os import environ

AVX512 = "X86_V4 AVX512_ICL AVX512_SPR"  # as numpy calls them
KINDS = {
    "AVX2": {
        "NPY_DISABLE_CPU_FEATURES": AVX512,
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
    },
    "SSE4": {
        "NPY_DISABLE_CPU_FEATURES": f"X86_V3 {AVX512}",
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_CBWR": "COMPATIBLE",
        "OPENBLAS_CORETYPE": "Nehalem",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA",  # of which Python's own powers are made
    },
}
UNIT = ("-n", "auto", "--dist", "loadscope", "--no-loadscope-reorder", "-m", "not e2e and not nightly")


def limited(kind: str) -> dict[str, str]:
    """The environment in which a process and those it starts have the instructions of a kind."""
    return environ | KINDS[kind] | {"OMP_NUM_THREADS": "1", "HYPOTHESIS_PROFILE": "tests"}


if __name__ == "__main__":
    asked = sys.argv[1:] or UNIT
    failed = []
    for kind in KINDS:
        sys.stdout.write(f"As on a processor with {kind}\n")
        sys.stdout.flush()
        if subprocess.run([sys.executable, "-m", "pytest", *asked], env=limited(kind), check=False).returncode:
            failed.append(kind)
    sys.exit(f"failed with {', '.join(failed)}" if failed else 0)
