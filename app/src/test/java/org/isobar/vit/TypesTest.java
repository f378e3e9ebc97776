package org.isobar.vit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.backend.dryrun.DryRunCommunicator;
import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.device.DeviceArena;
import org.isobar.device.checks.CheckedTensorOps;
import org.isobar.device.ops.BiasedGradient;
import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.IndexSpan;
import org.isobar.device.ops.RecomputedNorm;
import org.isobar.device.ops.TensorOps;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.nn.Layout;
import org.isobar.nn.Parameter;
import org.isobar.nn.ParameterStore;
import org.isobar.nn.Pass;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Checks the operand types of each operation in a forward and a backward pass. Each letter is a tensor: s for single
 * precision, a for the compute type. Tensors of an argument are in parentheses.
 */
class TypesTest {
    private static final int BATCH = 2;
    private static final Map<String, Set<String>> PLAIN = Map.ofEntries(
        Map.entry("patchify", Set.of("as")),                        // tokens, image: input and dPrediction
        Map.entry("linear", Set.of("saa(s)", "aaa(a)", "aaa(aa)", "saa")), // embedding; q, kv, proj, fc2; fc1; head
        Map.entry("addPositions", Set.of("sss")),
        Map.entry("layerNorm", Set.of("asssss")),
        Map.entry("attention", Set.of("asaa")),
        Map.entry("residualLayerNorm", Set.of("assssass")),
        Map.entry("residual", Set.of("ssa")),
        Map.entry("unpatchify", Set.of("ss")),
        Map.entry("layerNormRecompute", Set.of("asssss")),
        Map.entry("linearBackwardInput", Set.of("aaa")),
        Map.entry("linearBackwardWeight", Set.of("saa")),
        Map.entry("linearBackwardParameters", Set.of("ssaa")),      // q, kv
        Map.entry("biasBackward", Set.of("sa", "ss")),              // the last block's; the embedding's
        Map.entry("layerNormBackward", Set.of("sssassss", "sssassss(as)")), // the last norm; the first
        Map.entry("residualBackward", Set.of("as")),
        Map.entry("residualLayerNormBackward", Set.of("s(as)ssassss(as)")),
        Map.entry("biasGeluBackward", Set.of("aasaa")),
        Map.entry("attentionBackward", Set.of("aaaaaas")),
        Map.entry("addPositionsBackward", Set.of("ss")),
        Map.entry("cast", Set.of("as")));                           // the gradient that reaches the embedding

    @ParameterizedTest
    @EnumSource(names = {"F16", "BF16"})
    void onlyStreamAndStatisticsAreSinglePrecision(DType compute) {
        assertEquals(new TreeMap<>(PLAIN), record(compute, 0, Map.of()));
    }

    @Test
    void dropoutKeepsItsOperandsType() {
        assertEquals(Set.of("aa", "ss"), record(DType.BF16, 0.1, Map.of()).get("dropout"));
    }

    /** Staging buffers of collectives have the type of the gathered tensor. */
    @Test
    void aPartitionedModelHasTheSameTypes() {
        Map<String, Set<String>> cut = record(DType.F16, 0, Map.of(Axis.TP, 2, Axis.CP, 2));
        assertEquals(Set.of("aa", "ss"), cut.remove("copy")); // keys and values; scattered tokens
        Map<String, Set<String>> expected = new TreeMap<>(PLAIN);
        expected.put("layerNormBackward", Set.of("sssassss")); // outputs of norms are recomputed before
        expected.put("residualLayerNormBackward", Set.of("s(as)ssassss"));
        assertEquals(expected, cut);
    }

    /** There are no casts, and no copies of gradients that have the right type. */
    @Test
    void singlePrecisionNeedsNoConversion() {
        Map<String, Set<String>> single = record(DType.F32, 0, Map.of());
        assertFalse(single.containsKey("cast"), single::toString);
        assertFalse(single.containsKey("residualBackward"), single::toString);
        single.values().forEach(types -> types.forEach(type -> assertFalse(type.contains("a"), single::toString)));
    }

    @Test
    void productsReadTheComputeCopy() {
        try (DryRunDevice device = new DryRunDevice(); DeviceArena arena = device.arena("state", 0)) {
            ParameterStore store = new ParameterStore();
            model(store, 0, Communicators.alone(device.ops().memory()::copy));
            Tensor values = arena.f32(store.elements());
            Tensor copies = arena.allocate(DType.BF16, store.elements());
            Tensor gradients = arena.f32(store.elements());
            store.bind(values, copies, gradients);
            for (Parameter parameter : store.parameters()) {
                assertEquals(DType.F32, parameter.value().dtype());
                assertEquals(DType.BF16, parameter.compute().dtype());
                assertEquals(2 * (parameter.compute().offset() - copies.offset()),
                    parameter.value().offset() - values.offset());
                assertEquals(parameter.shape(), parameter.compute().shape());
            }
            store.bind(values, gradients);
            assertSame(values, store.copies());
            assertEquals(store.parameters().getFirst().value(), store.parameters().getFirst().compute());
        }
    }

    private static VisionTransformer model(ParameterStore store, double dropout, Communicators communicators) {
        VitConfig config = new VitConfig(16, 32, 8, 3, 2, 24, 2, 4, 96, dropout);
        return new VisionTransformer(store, config, Layout.of(communicators, config.tokens()));
    }

    /** Runs forward and backward of a model without drop-path and returns the operand types of each operation. */
    private static Map<String, Set<String>> record(DType compute, double dropout, Map<Axis, Integer> grid) {
        Map<String, Set<String>> types = new TreeMap<>();
        try (DryRunDevice device = new DryRunDevice(); DeviceArena arena = device.arena("all", 0);
            DeviceArena kept = device.arena("kept", 0); DeviceArena scratch = device.arena("scratch", 0);
            Communicators communicators = new Communicators(ProcessGrid.of(ProcessGrid.DEFAULT_ORDER, grid), 0,
                device.ops().memory()::copy, DryRunCommunicator::new)) {
            TensorOps ops = CheckedTensorOps.of(recorder(device.ops(), types));
            ParameterStore store = new ParameterStore();
            VisionTransformer model = model(store, dropout, communicators);
            Tensor values = arena.f32(store.elements());
            Tensor copies = compute == DType.F32 ? values : arena.allocate(compute, store.elements());
            store.bind(values, copies, arena.f32(store.elements()));
            Pass pass =
                new Pass(ops, compute, kept, scratch, new Pass.Masks(1, 0, IndexSpan.whole(BATCH)), done -> { });
            Tensor image = arena.f32(BATCH, 3, 16, 32);
            Tensor prediction = arena.f32(BATCH, 2, 16, 32);
            model.forward(prediction, image, pass);
            model.backward(prediction, image, pass);
            pass.finish();
        }
        return types;
    }

    private static TensorOps recorder(TensorOps ops, Map<String, Set<String>> types) {
        return ops.wrapped(new TensorOps.FamilyWrapper() {
            @Override
            public <T> T wrap(Class<T> family, T wrapped) {
                return family.cast(Proxy.newProxyInstance(TypesTest.class.getClassLoader(), new Class<?>[] {family},
                    (proxy, method, arguments) -> {
                        types.computeIfAbsent(method.getName(), name -> new TreeSet<>())
                            .add(Arrays.stream(arguments).map(TypesTest::letter).collect(Collectors.joining()));
                        return method.invoke(wrapped, arguments);
                    }));
            }
        });
    }

    private static String letter(Object argument) {
        return switch (argument) {
            case Tensor tensor -> tensor.dtype() == DType.F32 ? "s" : "a";
            case BiasedGradient biased -> letters(biased.gradient(), biased.dBias());
            case Optional<?> output -> output.map(TypesTest::letter).orElse("");
            case RecomputedNorm norm -> letters(norm.y(), norm.beta());
            case Epilogue.Bias bias -> letters(bias.bias());
            case Epilogue.BiasGelu gelu -> letters(gelu.bias(), gelu.preActivation());
            default -> "";
        };
    }

    private static String letters(Tensor... tensors) {
        return Stream.of(tensors).map(TypesTest::letter).collect(Collectors.joining("", "(", ")"));
    }
}
