package org.isobar.nn;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.isobar.backend.host.GridRanks;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.random.Philox;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Column- and row-parallel linear layers, and one that is not cut, against plain loops. */
class ParallelLinearTest {
    private static final int K = 12;
    private static final int N = 20;
    private static final List<List<Long>> LEADING = List.of(List.of(1L), List.of(2L, 5L), List.of(3L, 1L, 4L));

    /** The layers, and which of input and output a rank has a slice of. */
    private enum Kind {
        WHOLE(false, false) {
            @Override
            Layer build(ParameterScope here, Linear.Bias bias) {
                return new Linear(here, K, N, bias);
            }
        },
        COLUMNS(false, true) {
            @Override
            Layer build(ParameterScope here, Linear.Bias bias) {
                return new ColumnParallelLinear(here, K, N);
            }
        },
        ROWS(true, false) {
            @Override
            Layer build(ParameterScope here, Linear.Bias bias) {
                return new RowParallelLinear(here, K, N);
            }
        };

        private final boolean inputCut;
        private final boolean outputCut;

        Kind(boolean inputCut, boolean outputCut) {
            this.inputCut = inputCut;
            this.outputCut = outputCut;
        }

        abstract Layer build(ParameterScope here, Linear.Bias bias);
    }

    static Stream<Arguments> cases() {
        return Arrays.stream(Kind.values()).flatMap(kind -> Stream.of(1, 2, 4)
            .filter(ranks -> kind != Kind.WHOLE || ranks == 1)
            .flatMap(ranks -> Arrays.stream(Linear.Bias.values())
                .filter(bias -> kind == Kind.WHOLE || bias == Linear.Bias.ADDED)
                .flatMap(bias -> LEADING.stream().map(leading -> Arguments.of(kind, ranks, bias, leading)))));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void computesWhatAWholeLayerDoes(Kind kind, int ranks, Linear.Bias bias, List<Long> leading) throws Exception {
        int rows = Math.toIntExact(leading.stream().reduce(1L, (a, b) -> a * b));
        float[] x = random("x", rows * K);
        float[] dy = random("dy", rows * N);
        float[] weight = random("weight", N * K);
        float[] b = random("bias", N);
        Map<String, float[]> expected = reference(x, dy, weight, bias == Linear.Bias.ADDED ? b : new float[N]);
        if (bias == Linear.Bias.NONE) {
            expected.remove("db");
        }
        GridRanks.run(ProcessGrid.of("tp-cp-dp", Map.of(Axis.TP, ranks)), (device, communicators) -> {
            int mine = communicators.coordinate(Axis.TP);
            Map<String, float[]> actual;
            try (Rank rank = new Rank(device, communicators)) {
                Layer layer = kind.build(rank.root, bias);
                rank.bind(Map.of("weight", cutWeight(kind, weight, ranks, mine),
                    "bias", cutBias(kind, b, ranks, mine)));
                actual = rank.run(layer, leading, kind.inputCut ? columns(x, K, ranks, mine) : x,
                    kind.outputCut ? columns(dy, N, ranks, mine) : dy);
            }
            assertEquals(expected.keySet(), actual.keySet());
            close("y", kind.outputCut ? columns(expected.get("y"), N, ranks, mine) : expected.get("y"), actual);
            close("dx", kind.inputCut ? columns(expected.get("dx"), K, ranks, mine) : expected.get("dx"), actual);
            close("dW", cutWeight(kind, expected.get("dW"), ranks, mine), actual);
            if (bias != Linear.Bias.NONE) {
                close("db", cutBias(kind, expected.get("db"), ranks, mine), actual);
            }
            return null;
        });
    }

    /** One rank's memory and parameters. */
    private static final class Rank implements AutoCloseable {
        private final Device device;
        private final DeviceArena state;
        private final DeviceArena kept;
        private final DeviceArena scratch;
        private final ParameterStore store = new ParameterStore();
        private final ParameterScope root;

        Rank(Device device, Communicators communicators) {
            this.device = device;
            state = device.arena("state", 1 << 16);
            kept = device.arena("kept", 1 << 16);
            scratch = device.arena("scratch", 1 << 16);
            root = ParameterScope.root(store, Layout.of(communicators, 1));
        }

        void bind(Map<String, float[]> weights) {
            Tensor values = state.f32(store.elements());
            store.bind(values, state.f32(store.elements()));
            device.ops().memory().fill(store.gradients(), 0);
            store.stateDict().forEach((name, tensor) -> write(tensor, weights.get(name)));
        }

        Map<String, float[]> run(Layer layer, List<Long> leading, float[] x, float[] dy) {
            Tensor input = tensor(leading, x);
            Tensor outputGradient = tensor(leading, dy);
            Tensor y = state.f32(outputGradient.shape().extents());
            Tensor dx = state.f32(input.shape().extents());
            Pass pass = new Pass(device.ops(), kept, scratch, new Pass.None());
            layer.forward(y, input, pass);
            layer.backward(dx, outputGradient, input, pass);
            pass.finish();
            assertEquals(0, scratch.used(), "scratch left open");
            Map<String, float[]> results = new LinkedHashMap<>();
            results.put("y", read(y));
            results.put("dx", read(dx));
            store.gradientDict().forEach((name, tensor) -> results.put(name.equals("bias") ? "db" : "dW",
                read(tensor)));
            return results;
        }

        private Tensor tensor(List<Long> leading, float[] values) {
            long[] extents = leading.stream().mapToLong(Long::longValue).toArray();
            int rows = Math.toIntExact(Arrays.stream(extents).reduce(1, (a, b) -> a * b));
            long[] shape = Arrays.copyOf(extents, extents.length + 1);
            shape[extents.length] = values.length / rows;
            Tensor tensor = state.f32(shape);
            write(tensor, values);
            return tensor;
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
        }
    }

    private static Map<String, float[]> reference(float[] x, float[] dy, float[] weight, float[] bias) {
        int rows = x.length / K;
        float[] y = new float[rows * N];
        float[] dx = new float[rows * K];
        float[] dWeight = new float[N * K];
        float[] dBias = new float[N];
        for (int m = 0; m < rows; m++) {
            for (int n = 0; n < N; n++) {
                double sum = bias[n];
                for (int k = 0; k < K; k++) {
                    sum += (double) x[m * K + k] * weight[n * K + k];
                    dx[m * K + k] += dy[m * N + n] * weight[n * K + k];
                    dWeight[n * K + k] += dy[m * N + n] * x[m * K + k];
                }
                y[m * N + n] = (float) sum;
                dBias[n] += dy[m * N + n];
            }
        }
        Map<String, float[]> all = new LinkedHashMap<>();
        all.put("y", y);
        all.put("dx", dx);
        all.put("dW", dWeight);
        all.put("db", dBias);
        return all;
    }

    /** Columns parallel: the outputs, which are rows of W; rows parallel: the inputs, which are columns of it. */
    private static float[] cutWeight(Kind kind, float[] weight, int ranks, int rank) {
        return switch (kind) {
            case WHOLE -> weight;
            case COLUMNS -> columns(weight, N * K, ranks, rank);
            case ROWS -> columns(weight, K, ranks, rank);
        };
    }

    private static float[] cutBias(Kind kind, float[] bias, int ranks, int rank) {
        return kind == Kind.COLUMNS ? columns(bias, N, ranks, rank) : bias;
    }

    /** A rank's slice of every row of {@code width} values. */
    private static float[] columns(float[] whole, int width, int ranks, int rank) {
        int run = width / ranks;
        float[] slice = new float[whole.length / ranks];
        for (int row = 0; row < whole.length / width; row++) {
            System.arraycopy(whole, row * width + rank * run, slice, row * run, run);
        }
        return slice;
    }

    private static float[] random(String purpose, int count) {
        return Philox.normals(Philox.Key.of(11, purpose), count, 1);
    }

    private static void close(String what, float[] expected, Map<String, float[]> actual) {
        assertEquals(expected.length, actual.get(what).length, what);
        double difference = 0;
        double norm = 0;
        for (int i = 0; i < expected.length; i++) {
            difference += Math.pow(actual.get(what)[i] - expected[i], 2);
            norm += Math.pow(expected[i], 2);
        }
        assertEquals(0, Math.sqrt(difference / norm), 1e-6, what);
    }
}
