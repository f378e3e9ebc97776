package org.isobar.nn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.stream.IntStream;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.device.Arena;
import org.isobar.device.Device;
import org.isobar.device.Span;
import org.isobar.distributed.Communicators;
import org.isobar.random.Philox;
import org.isobar.tensor.Tensor;

/**
 * Directional finite differences: with {@code L = sum of r * f(x)} for a random r, the derivative along a direction d,
 * {@code (L(+h d) - L(-h d)) / 2h}, must be {@code <gradient, d>}. Directions are half gradient, half random, so that
 * neither a wrong length nor a wrong angle goes unseen.
 */
final class GradientCheck implements AutoCloseable {
    private static final long SEED = 7;
    private static final double TOLERANCE = 2e-3; // of single-precision differences; see step()

    private final Device device = new CpuDevice(2);
    private final Arena state = device.arena("state", 1 << 24);
    private final Arena kept = device.arena("kept", 1 << 24);
    private final Arena scratch = device.arena("scratch", 1 << 24);
    private final ParameterStore store = new ParameterStore();
    private final Layer layer;
    private final Tensor x;
    private final Tensor dx;
    private final Tensor y;
    private final Tensor dy;
    private final Pass.Randomness randomness;

    GradientCheck(Function<Scoped, Layer> build, Pass.Randomness randomness, long[] inputShape, long outputs) {
        this.randomness = randomness;
        Layout layout = Layout.of(Communicators.alone(device.ops()::copy), inputShape[1]);
        layer = build.apply(Scoped.root(store, layout).child("layer"));
        Tensor values = state.f32(Math.max(store.elements(), 1));
        store.bind(values, state.f32(Math.max(store.elements(), 1)));
        long[] outputShape = inputShape.clone();
        outputShape[outputShape.length - 1] = outputs;
        x = state.f32(inputShape);
        dx = state.f32(inputShape);
        y = state.f32(outputShape);
        dy = state.f32(outputShape);
        write(values, random("weights", values, 0.3));
        write(x, random("x", x, 1));
        write(dy, random("dy", dy, 1));
    }

    /** Masks of a training step, for layers with dropout. */
    static Pass.Randomness training(long samples) {
        return new Pass.Masks(SEED, 3, Span.whole(samples));
    }

    /** Compares the gradient of the input and of every parameter. */
    void check() {
        device.ops().fill(store.gradients(), 0);
        Pass pass = new Pass(device.ops(), kept, scratch, randomness);
        layer.forward(y, x, pass);
        layer.backward(dx, dy, x, pass);
        pass.finish();
        assertEquals(0, scratch.used(), "scratch left open");
        compare("input", x, read(dx));
        Map<String, Tensor> gradients = store.gradientDict();
        store.stateDict().forEach((name, value) -> {
            if (!name.endsWith("k.bias")) { // zero in exact arithmetic: nothing but rounding to compare
                compare(name, value, read(gradients.get(name)));
            }
        });
    }

    private void compare(String name, Tensor variable, float[] gradient) {
        double norm = norm(gradient);
        assertTrue(norm > 1e-6, name + " has no gradient");
        float[] noise = random("direction " + name, variable, 1);
        double noiseNorm = norm(noise);
        double[] direction = IntStream.range(0, noise.length)
            .mapToDouble(i -> gradient[i] / norm + noise[i] / noiseNorm).toArray();
        double expected = IntStream.range(0, noise.length).mapToDouble(i -> gradient[i] * direction[i]).sum();
        float[] original = read(variable);
        double step = 1e-2 * Math.max(norm(original), 1) / Math.sqrt(2);
        double best = Double.MAX_VALUE;
        for (double h = step; h > step / 300; h /= 4) { // truncation falls, rounding grows: some h balances them
            best = Math.min(best, Math.abs(difference(variable, original, direction, h) - expected));
        }
        write(variable, original);
        assertEquals(0, best, TOLERANCE * Math.abs(expected), name);
    }

    private double difference(Tensor variable, float[] original, double[] direction, double h) {
        DoubleSupplier loss = () -> {
            Pass pass = new Pass(device.ops(), kept, scratch, randomness);
            layer.forward(y, x, pass);
            pass.discard();
            float[] output = read(y);
            float[] r = read(dy);
            return IntStream.range(0, output.length).mapToDouble(i -> (double) output[i] * r[i]).sum();
        };
        write(variable, moved(original, direction, h));
        double plus = loss.getAsDouble();
        write(variable, moved(original, direction, -h));
        return (plus - loss.getAsDouble()) / (2 * h);
    }

    private static float[] moved(float[] original, double[] direction, double h) {
        float[] moved = original.clone();
        for (int i = 0; i < moved.length; i++) {
            moved[i] += (float) (h * direction[i]);
        }
        return moved;
    }

    private static double norm(float[] values) {
        return Math.sqrt(IntStream.range(0, values.length).mapToDouble(i -> (double) values[i] * values[i]).sum());
    }

    private static float[] random(String purpose, Tensor like, double std) {
        Philox.Key key = Philox.Key.of(SEED, purpose);
        float[] values = new float[Math.toIntExact(like.elements())];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) (std * Philox.normal(key, i));
        }
        return values;
    }

    private void write(Tensor tensor, float[] values) {
        device.upload(tensor, MemorySegment.ofArray(values));
    }

    private float[] read(Tensor tensor) {
        float[] values = new float[Math.toIntExact(tensor.elements())];
        device.download(MemorySegment.ofArray(values), tensor);
        return values;
    }

    @Override
    public void close() {
        scratch.close();
        kept.close();
        state.close();
        device.close();
    }
}
