package org.isobar.backend.cuda.ops;

import static org.bytedeco.cuda.global.cudart.cuMemcpyDtoDAsync;
import static org.bytedeco.cuda.global.cudart.cuMemsetD8Async;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

import org.bytedeco.cuda.cudart.CUstream_st;
import org.isobar.backend.cuda.driver.Cuda;
import org.isobar.backend.cuda.kernels.ElementGrid;
import org.isobar.backend.cuda.kernels.KernelVariant;
import org.isobar.backend.cuda.kernels.LoadedKernel;
import org.isobar.backend.cuda.kernels.TypedKernel;
import org.isobar.device.ops.MemoryOps;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** Fills, copies and casts tensors. The driver fills with zeros and copies; kernels do everything else. */
final class CudaMemory implements MemoryOps {
    private final OpResources context;
    private final CUstream_st stream; // that of the launcher
    private final Map<DType, TypedKernel> casts = new EnumMap<>(DType.class); // by the type of x

    CudaMemory(OpResources context) {
        this.context = context;
        stream = context.launcher().stream();
        for (DType from : TypedKernel.TYPES) {
            casts.put(from, new TypedKernel(context.kernels(), "cast.cu", "cast", "FROM=" + TypedKernel.name(from)));
        }
    }

    static List<KernelVariant> variants() {
        List<KernelVariant> variants = new ArrayList<>();
        for (int bytes : new int[] {2, 4, Long.BYTES}) {
            variants.add(new KernelVariant("fill.cu", "fill_" + bytes, List.of()));
        }
        for (DType from : TypedKernel.TYPES) {
            TypedKernel.variants("cast.cu", "cast", "FROM=" + TypedKernel.name(from)).stream()
                .filter(variant -> !variant.defines().contains(TypedKernel.define(from))).forEach(variants::add);
        }
        return variants;
    }

    @Override
    public void fill(Tensor y, double value) {
        long bits = y.dtype().bits(value);
        if (bits == 0) {
            Cuda.check(cuMemsetD8Async(y.address(), (byte) 0, y.bytes(), stream), "cuMemsetD8Async");
            return;
        }
        LoadedKernel kernel = context.kernels().kernel("fill.cu", "fill_" + y.dtype().bytes());
        context.launcher().call(kernel).tensor(y).int64(bits).int64(y.elements())
            .launch(ElementGrid.blocks(y.elements()), ElementGrid.THREADS);
    }

    @Override
    public void copy(Tensor y, Tensor x) {
        Cuda.check(cuMemcpyDtoDAsync(y.address(), x.address(), x.bytes(), stream), "cuMemcpyDtoDAsync");
    }

    @Override
    public void cast(Tensor y, Tensor x) {
        if (y.dtype() == x.dtype()) {
            copy(y, x);
            return;
        }
        context.launcher().call(casts.get(x.dtype()).of(y.dtype())).tensor(y).tensor(x).int64(x.elements())
            .launch(ElementGrid.blocks(x.elements()), ElementGrid.THREADS);
    }
}
