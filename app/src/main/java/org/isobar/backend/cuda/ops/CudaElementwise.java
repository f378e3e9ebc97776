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
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** Filling, copying, casting and transposing. What the driver does by itself is left to it. */
final class CudaElementwise {
    private static final int WIDE = 16;

    private final OpResources context;
    private final CUstream_st stream; // that of the launcher
    private final Map<DType, TypedKernel> casts = new EnumMap<>(DType.class); // by the type of x

    CudaElementwise(OpResources context) {
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
        for (int bytes : new int[] {2, 4, WIDE}) {
            variants.add(new KernelVariant("transpose_outer.cu", "transpose_outer_" + bytes, List.of()));
        }
        for (DType from : TypedKernel.TYPES) {
            TypedKernel.variants("cast.cu", "cast", "FROM=" + TypedKernel.name(from)).stream()
                .filter(variant -> !variant.defines().contains(TypedKernel.define(from))).forEach(variants::add);
        }
        return variants;
    }

    void fill(Tensor y, double value) {
        long bits = y.dtype().bits(value);
        if (bits == 0) {
            Cuda.check(cuMemsetD8Async(y.address(), (byte) 0, y.bytes(), stream), "cuMemsetD8Async");
            return;
        }
        LoadedKernel kernel = context.kernels().kernel("fill.cu", "fill_" + y.dtype().bytes());
        context.launcher().call(kernel).tensor(y).int64(bits).int64(y.elements())
            .launch(ElementGrid.blocks(y.elements()), ElementGrid.THREADS);
    }

    void copy(Tensor y, Tensor x) {
        Cuda.check(cuMemcpyDtoDAsync(y.address(), x.address(), x.bytes(), stream), "cuMemcpyDtoDAsync");
    }

    void cast(Tensor y, Tensor x) {
        if (y.dtype() == x.dtype()) {
            copy(y, x);
            return;
        }
        context.launcher().call(casts.get(x.dtype()).of(y.dtype())).tensor(y).tensor(x).int64(x.elements())
            .launch(ElementGrid.blocks(x.elements()), ElementGrid.THREADS);
    }

    void transposeOuter(Tensor y, Tensor x) {
        long rowBytes = x.shape().extent(2) * x.dtype().bytes();
        boolean wide = rowBytes % WIDE == 0 && ElementGrid.aligned(y) && ElementGrid.aligned(x);
        int word = wide ? WIDE : x.dtype().bytes();
        LoadedKernel kernel = context.kernels().kernel("transpose_outer.cu", "transpose_outer_" + word);
        context.launcher().call(kernel).tensor(y).tensor(x).int64(x.shape().extent(0)).int64(x.shape().extent(1))
            .int64(rowBytes / word).launch(ElementGrid.blocks(x.bytes() / word), ElementGrid.THREADS);
    }
}
