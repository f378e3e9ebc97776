package org.isobar.backend.cpu;

import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Locale;

import org.isobar.device.AdamConstants;
import org.isobar.device.Arena;
import org.isobar.device.Dropout;
import org.isobar.device.PatchShape;
import org.isobar.device.Span;
import org.isobar.device.StepControl;
import org.isobar.device.TensorOps;
import org.isobar.device.Write;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/**
 * Times everything but products and attention, at the tokens and images of the base shape or of the demo's, in bytes
 * that must move. Run by hand: {@code java @jvm.options -cp target/classes:target/test-classes:...
 * org.isobar.backend.cpu.PointwiseBenchmark [threads [F32|BF16]]}.
 */
final class PointwiseBenchmark {
    private static final int WARM_UP = 30;
    private static final int REPETITIONS = 30;
    private static final double GIGA = 1e9;

    private final TensorOps ops;
    private final Arena arena;
    private final DType a;

    private PointwiseBenchmark(TensorOps ops, Arena arena, DType a) {
        this.ops = ops;
        this.arena = arena;
        this.a = a;
    }

    /** Prints the best of several times for each operation. */
    public static void main(String[] arguments) {
        int threads = arguments.length > 0 ? Integer.parseInt(arguments[0])
            : Runtime.getRuntime().availableProcessors();
        DType a = arguments.length > 1 ? DType.valueOf(arguments[1]) : DType.F32;
        try (CpuDevice device = new CpuDevice(threads); Arena arena = device.arena("benchmark", 1L << 30)) {
            System.out.println(device.description());
            PointwiseBenchmark benchmark = new PointwiseBenchmark(device.ops(), arena, a);
            for (int round = 0; round < 2; round++) {
                benchmark.tokens(1, 4050, 384);
                benchmark.tokens(4, 128, 192);
                benchmark.images(new PatchShape(1, 20, 360, 720, 8, PatchShape.Order.CHANNEL_FIRST));
                benchmark.images(new PatchShape(4, 20, 64, 128, 8, PatchShape.Order.CHANNEL_LAST));
                benchmark.update(25_000_000);
                arena.reset();
            }
        }
    }

    private void tokens(long b, long t, long c) {
        System.out.println("-- tokens " + b + " x " + t + " x " + c + " in " + a);
        activation(b, t, 4 * c);
        Tensor x = random(b, t, c);
        Tensor branch = random(a, b, t, c);
        Tensor norm = arena.allocate(a, b, t, c);
        Tensor y = arena.f32(b, t, c);
        Tensor mean = arena.f32(b, t);
        Tensor invStd = arena.f32(b, t);
        Tensor gamma = random(c);
        Tensor beta = random(c);
        time("layerNorm", x.bytes() + norm.bytes(), () -> ops.layerNorm(norm, mean, invStd, x, gamma, beta, 1e-6));
        time("layerNormRecompute", x.bytes() + norm.bytes(),
            () -> ops.layerNormRecompute(norm, x, mean, invStd, gamma, beta));
        Tensor dGamma = random(c);
        Tensor dBeta = random(c);
        time("layerNormBackward", 2 * x.bytes() + branch.bytes(),
            () -> ops.layerNormBackward(y, dGamma, dBeta, branch, x, mean, invStd, gamma, Write.OVERWRITE));
        Tensor positions = random(t, c);
        time("addPositions", 2 * x.bytes() + positions.bytes(), () -> ops.addPositions(y, x, positions));
        time("addPositionsBackward", x.bytes() + 2 * positions.bytes(), () -> ops.addPositionsBackward(positions, x));
        time("residual", 2 * x.bytes() + branch.bytes(), () -> ops.residual(y, x, branch, Dropout.NONE));
        time("residualLayerNorm", 2 * x.bytes() + 2 * branch.bytes(), () -> ops.residualLayerNorm(norm, y, mean,
            invStd, x, branch, Dropout.NONE, gamma, beta, 1e-6));
        time("residualBackward", x.bytes() + branch.bytes(), () -> ops.residualBackward(branch, x, Dropout.NONE));
        Dropout dropout = new Dropout(0.1, Philox.Key.of(1, "benchmark"),
            List.of(Span.whole(b), Span.whole(t), Span.whole(c)));
        time("dropout", 2 * branch.bytes(), () -> ops.dropout(norm, branch, dropout));
        time("fill", x.bytes(), () -> ops.fill(y, 0));
        time("copy", 2 * x.bytes(), () -> ops.copy(y, x));
        time("cast", x.bytes() + norm.bytes(), () -> ops.cast(norm, x));
    }

    private void activation(long b, long t, long hidden) {
        Tensor x = random(a, b, t, hidden);
        Tensor dy = random(a, b, t, hidden);
        Tensor y = arena.allocate(a, b, t, hidden);
        Tensor dx = arena.allocate(a, b, t, hidden);
        Tensor dBias = arena.f32(hidden);
        time("gelu", 2 * x.bytes(), () -> ops.gelu(y, x));
        time("biasGeluBackward", 5 * x.bytes(), () -> ops.biasGeluBackward(dx, y, dBias, dy, x));
    }

    private void images(PatchShape shape) {
        System.out.println("-- images " + shape + " in " + a);
        Tensor image = random(shape.batch(), shape.channels(), shape.height(), shape.width());
        Tensor target = random(shape.batch(), shape.channels(), shape.height(), shape.width());
        Tensor tokens = arena.allocate(a, shape.batch(), shape.tokens(), shape.tokenSize());
        time("patchify", image.bytes() + tokens.bytes(), () -> ops.patchify(tokens, image, shape));
        time("unpatchify", image.bytes() + tokens.bytes(), () -> ops.unpatchify(image, tokens, shape));
        Tensor loss = arena.allocate(DType.F64, 1);
        Tensor norms = arena.allocate(DType.F64, shape.batch(), 2);
        Tensor rmse = arena.allocate(DType.F64, shape.channels());
        Tensor scale = arena.allocate(DType.F64, 1);
        ops.fill(scale, 1);
        Tensor gradient = arena.f32(image.shape().extents());
        time("relativeL2Loss", 2 * image.bytes(), () -> ops.relativeL2Loss(loss, norms, image, target));
        time("relativeL2LossBackward", 3 * image.bytes(),
            () -> ops.relativeL2LossBackward(gradient, image, target, norms, scale));
        time("weightedRmse", 2 * image.bytes(), () -> ops.weightedRmse(rmse, image, target));
    }

    private void update(long n) {
        System.out.println("-- parameters " + n);
        Tensor parameter = random(n);
        Tensor gradient = random(n);
        Tensor moment1 = arena.f32(n);
        Tensor moment2 = arena.f32(n);
        ops.fill(moment1, 0);
        ops.fill(moment2, 0);
        Tensor control = arena.allocate(DType.F64, StepControl.SIZE);
        ops.fill(control, 0);
        ops.fill(control.slice(StepControl.LEARNING_RATE, 2), 1); // and the count
        AdamConstants constants = new AdamConstants(0.9, 0.95, 1e-8);
        Tensor copy = a == DType.F32 ? parameter : arena.allocate(a, n);
        time("adam", 7 * parameter.bytes() + (a == DType.F32 ? 0 : copy.bytes()),
            () -> ops.adam(parameter, copy, gradient, moment1, moment2, control, constants));
    }

    private static void time(String name, long bytes, Runnable operation) {
        double best = Double.POSITIVE_INFINITY;
        for (int i = 0; i < WARM_UP + REPETITIONS; i++) {
            long start = System.nanoTime();
            operation.run();
            if (i >= WARM_UP) {
                best = Math.min(best, (System.nanoTime() - start) / GIGA);
            }
        }
        System.out.printf(Locale.ROOT, "%-26s %9.3f ms %8.2f GB/s%n", name, best * 1e3, bytes / best / GIGA);
    }

    private Tensor random(DType dtype, long... extents) {
        Tensor tensor = arena.allocate(dtype, extents);
        ops.cast(tensor, random(extents));
        return tensor;
    }

    private Tensor random(long... extents) {
        Tensor tensor = arena.f32(extents);
        Philox.Key key = Philox.Key.of(1, tensor.shape().toString());
        for (long i = 0; i < tensor.elements(); i++) {
            HostStorage.of(tensor).setAtIndex(ValueLayout.JAVA_FLOAT, i,
                (float) Philox.uniform(key, i) - 0.5f);
        }
        return tensor;
    }
}
