"""Kernels compiled alone, for any instruction set, and what they should give, in NumPy."""

import ctypes

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from explorer.kernels.building import I32, I64, vector
from explorer.kernels.dot import GROUP, Product, TileProduct
from explorer.kernels.isa import InstructionSet

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()


class Portable(InstructionSet):
    """A dot step spelt out in plain multiplications, for the layouts of all instruction sets."""

    name, row_blocks = "portable", (4, 2, 1)

    def __init__(self, lanes, code_bits):
        self.lanes, self.code_bits = lanes, code_bits

    def step(self, builder, total, codes, acts):
        wide = vector(I32, 4 * self.lanes)
        products = builder.mul(builder.zext(codes, wide), builder.sext(acts, wide))
        for offset in range(4):
            picked = [ir.Constant(I32, 4 * lane + offset) for lane in range(self.lanes)]
            mask = ir.Constant(vector(I32, self.lanes), picked)
            total = builder.add(total, builder.shuffle_vector(products, products, mask))
        return total


def module_of(product: TileProduct) -> str:
    """LLVM's text of a function `kernel`, whose arguments are those of dot.Product."""
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * 7), "kernel")
    builder = ir.IRBuilder(function.append_basic_block())
    product.emit(builder, Product(*function.args))
    builder.ret_void()
    return str(module)


def assembly_for(product: TileProduct, triple: str, cpu: str) -> str:
    """The machine code of another machine, as text."""
    module = llvm.parse_assembly(module_of(product))
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=3)
    return machine.emit_assembly(module)


class Kernel:
    """A tile's product, compiled for this machine."""

    def __init__(self, product: TileProduct):
        module = llvm.parse_assembly(module_of(product))
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
        )
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        address = self._engine.get_function_address("kernel")
        self._function = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 7)(address)

    def __call__(self, tile, records, out):
        """tile uint8 [groups, block bytes]; records uint8 [n, groups, RECORD]; out [n, lanes]."""
        row_bytes, out_bytes = records[0].nbytes, out[0].nbytes
        places = tile.ctypes.data, len(tile), records.ctypes.data, row_bytes, len(records)
        self._function(*places, out.ctypes.data, out_bytes)


def quantised(x):
    """Rows float32 [n, K] as records uint8 [n, K / 32, 40], and the codes and scales in them."""
    groups = x.reshape(len(x), -1, GROUP).astype(np.float32)
    top = np.abs(groups).max(-1)
    inverse = np.divide(np.float32(127), top, out=np.zeros_like(top), where=top > 0)
    codes = np.rint(groups * inverse[..., None]).astype(np.int8)
    scale = top / np.float32(127)
    offset = scale * codes.sum(-1, dtype=np.int32).astype(np.float32)
    floats = np.stack([scale, offset], -1).view(np.uint8)
    return np.concatenate([codes.view(np.uint8), floats], -1), codes, scale


def expected(weights, codes, scale):
    """[n, N] float64 of weights [N, K] and quantised rows."""
    rows = (codes.astype(np.float64) * scale[..., None]).reshape(len(codes), -1)
    return rows @ weights.astype(np.float64).T
