package org.isobar.backend.cpu;

import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Locale;

import org.isobar.device.Arena;
import org.isobar.device.AttentionShape;
import org.isobar.device.Dropout;
import org.isobar.device.Epilogue;
import org.isobar.device.Span;
import org.isobar.device.TensorOps;
import org.isobar.device.Write;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/**
 * Times the products and attention of one block of the base shape and of the demo's. Run by hand:
 * {@code java @jvm.options -cp target/classes:target/test-classes:... org.isobar.backend.cpu.CpuBenchmark [threads]}.
 */
final class CpuBenchmark {
    private static final int WARM_UP = 5;
    private static final int REPETITIONS = 15;
    private static final long SPAN_NANOS = 250_000_000; // at least; others may be at work
    private static final double GIGA = 1e9;

    private final TensorOps ops;
    private final Arena arena;

    private CpuBenchmark(TensorOps ops, Arena arena) {
        this.ops = ops;
        this.arena = arena;
    }

    /** Prints the best of several times for each operation. */
    public static void main(String[] arguments) {
        int threads = arguments.length > 0 ? Integer.parseInt(arguments[0])
            : Runtime.getRuntime().availableProcessors();
        try (CpuDevice device = new CpuDevice(threads); Arena arena = device.arena("benchmark", 1L << 30)) {
            System.out.println(device.description());
            CpuBenchmark benchmark = new CpuBenchmark(device.ops(), arena);
            for (DType dtype : new DType[] {DType.F32, DType.BF16}) {
                for (long[] shape : new long[][] {{4050, 1536, 384}, {4050, 384, 1536}, {4050, 384, 384},
                    {512, 192, 192}, {512, 768, 192}, {512, 192, 768}}) {
                    benchmark.products(dtype, shape[0], shape[1], shape[2]);
                }
            }
            AttentionShape base = new AttentionShape(1, 4050, 4050, 8, 48);
            benchmark.attention(base, Dropout.NONE);
            benchmark.attention(base, new Dropout(0.1, new Philox.Key(1, 1),
                List.of(Span.whole(1), Span.whole(8), Span.whole(4050), Span.whole(4050))));
            benchmark.attention(new AttentionShape(1, 4050, 4050, 8, 64), Dropout.NONE);
            benchmark.attention(new AttentionShape(4, 128, 128, 6, 32), Dropout.NONE);
        }
    }

    private void products(DType dtype, long m, long n, long k) {
        try (Arena.Scope scope = arena.scope()) {
            Tensor x = random(scope.allocate(dtype, m, k));
            Tensor y = random(scope.allocate(dtype, m, n));
            Tensor u = scope.allocate(dtype, m, n);
            Tensor weight = random(scope.allocate(dtype, n, k));
            Tensor bias = random(scope.allocate(dtype, n));
            Tensor dWeight = random(scope.f32(n, k));
            Tensor dBias = random(scope.f32(n));
            double flops = 2.0 * m * n * k;
            time("linear " + m + " x " + n + " x " + k + ", " + dtype, flops,
                () -> ops.linear(y, x, weight, Epilogue.NONE));
            time("  with bias", flops, () -> ops.linear(y, x, weight, new Epilogue.Bias(bias)));
            time("  with bias and GELU", flops, () -> ops.linear(y, x, weight, new Epilogue.BiasGelu(bias, u)));
            time("  backward, input", flops, () -> ops.linearBackwardInput(x, y, weight, Write.OVERWRITE));
            random(x);
            random(y);
            time("  backward, weight", flops, () -> ops.linearBackwardWeight(dWeight, y, x));
            time("  backward, bias", m * n, () -> ops.biasBackward(dBias, y));
        }
    }

    private void attention(AttentionShape shape, Dropout dropout) {
        try (Arena.Scope scope = arena.scope()) {
            Tensor q = random(scope.f32(shape.batch(), shape.queries(), shape.heads(), shape.headDim()));
            Tensor kv = random(scope.f32(shape.batch(), shape.keys(), 2, shape.heads(), shape.headDim()));
            Tensor dOut = random(scope.f32(q.shape().extents()));
            Tensor out = scope.f32(q.shape().extents());
            Tensor lse = scope.f32(shape.batch(), shape.heads(), shape.queries());
            Tensor dq = scope.f32(q.shape().extents());
            Tensor dkv = scope.f32(kv.shape().extents());
            double product = 2.0 * shape.batch() * shape.heads() * shape.queries() * shape.keys() * shape.headDim();
            String name = "attention " + shape + (dropout.isNone() ? "" : " with dropout");
            time(name, 2 * product, () -> ops.attention(out, lse, q, kv, shape, dropout));
            time("  backward", 5 * product,
                () -> ops.attentionBackward(dq, dkv, dOut, q, kv, out, lse, shape, dropout));
        }
    }

    private static void time(String name, double flops, Runnable operation) {
        double best = Double.POSITIVE_INFINITY;
        long end = System.nanoTime() + SPAN_NANOS;
        for (int i = 0; i < WARM_UP + REPETITIONS || System.nanoTime() < end; i++) {
            long start = System.nanoTime();
            operation.run();
            if (i >= WARM_UP) {
                best = Math.min(best, (System.nanoTime() - start) / GIGA);
            }
        }
        System.out.printf(Locale.ROOT, "%-105s %9.3f ms %8.1f GFLOP/s%n", name, best * 1e3, flops / best / GIGA);
    }

    private static Tensor random(Tensor tensor) {
        Philox.Key key = Philox.Key.of(1, tensor.toString());
        for (long i = 0; i < tensor.elements(); i++) {
            double value = Philox.uniform(key, i) - 0.5;
            if (tensor.dtype() == DType.F32) {
                HostStorage.of(tensor).setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) value);
            } else {
                HostStorage.of(tensor).setAtIndex(ValueLayout.JAVA_SHORT, i, (short) tensor.dtype().bits(value));
            }
        }
        return tensor;
    }
}
