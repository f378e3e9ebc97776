package org.isobar.backend.cuda;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;

import org.isobar.backend.cuda.AttentionKernels.Masking;
import org.isobar.backend.cuda.AttentionKernels.Pass;
import org.isobar.backend.cuda.AttentionKernels.Variant;
import org.isobar.backend.cuda.CudaOptions.SinglePrecision;
import org.isobar.tensor.DType;

/** What ptxas says of kernels, as the tables of docs/kernels.md. */
final class KernelTable {
    private static final String TYPE = "TYPE=";

    private final Map<KernelVariant, KernelUsage> usages = new ConcurrentHashMap<>();

    /** Adds a kernel by what the compiler's log says of it. */
    void add(KernelVariant variant, String log) {
        KernelUsage usage = KernelUsage.of(log).get(variant.function());
        if (usage == null) {
            throw new AssertionError("ptxas says nothing of " + variant + ":\n" + log);
        }
        usages.put(variant, usage);
    }

    /** Kernels that use local memory. */
    Collection<String> outsideRegisters() {
        return usages.entrySet().stream().filter(kernel -> kernel.getValue().local() > 0)
            .map(kernel -> name(kernel.getKey().function(), kernel.getKey().defines()) + ": " + kernel.getValue())
            .sorted().toList();
    }

    /** Both tables under their headings. */
    List<String> markdown() {
        List<String> lines = new ArrayList<>(List.of("## Attention in tiles", "",
            "| kernel | type | channels | tiles | warps | kept | blocks | shared | registers | with dropout | local |",
            "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"));
        AttentionKernels.variants().stream().filter(variant -> variant.masking() == Masking.NONE)
            .sorted(Comparator.comparing(Variant::pass).thenComparing(Variant::dtype).thenComparing(Variant::single)
                .thenComparing(Variant::headDim))
            .forEach(variant -> lines.add(attention(variant)));
        lines.addAll(List.of("", "## All others", "",
            "| kernel | registers | shared | local |",
            "|---|---|---|---:|"));
        others().forEach((name, types) -> lines.add("| `" + name + "` | " + cell(types, KernelUsage::registers) + " | "
            + cell(types, KernelUsage::shared) + " | " + cell(types, KernelUsage::local) + " |"));
        return lines;
    }

    /** What the comment at the head of attention_forward.cu says of heads of each size. */
    List<String> forward(DType dtype) {
        return AttentionKernels.HEAD_DIMS.stream().map(headDim -> {
            Variant plain = new Variant(Pass.FORWARD, dtype, SinglePrecision.TF32, headDim, Masking.NONE);
            Variant masked = new Variant(Pass.FORWARD, dtype, SinglePrecision.TF32, headDim, Masking.DROPOUT);
            return String.format("//     %3d   %3d x %2d         %2d KB             %d         %d", headDim,
                plain.tiling().rows(), plain.tiling().columns(), plain.sharedBytes() >> 10,
                usages.get(plain.kernel()).registers(), usages.get(masked.kernel()).registers());
        }).toList();
    }

    private String attention(Variant variant) {
        Variant masked = new Variant(variant.pass(), variant.dtype(), variant.single(), variant.headDim(),
            Masking.DROPOUT);
        KernelUsage usage = usages.get(variant.kernel());
        KernelUsage dropout = usages.get(masked.kernel());
        AttentionTiling tiling = variant.tiling();
        return String.format("| `%s%s` | `%s%s` | %d | %d x %d | %d | %d | %d | %d | %d | %d | %d |",
            variant.kernel().function(), variant.pass() == Pass.BACKWARD_KEYS_ATOMIC ? " ATOMIC" : "",
            TypedKernel.name(variant.dtype()), variant.single() == SinglePrecision.FULL ? " FULL" : "",
            variant.headDim(), tiling.rows(), tiling.columns(), tiling.warps(), tiling.kept(), tiling.blocks(),
            variant.sharedBytes(), usage.registers(), dropout.registers(), Math.max(usage.local(), dropout.local()));
    }

    /** Usage by type of all kernels without tiles, by name; a kernel of no type has one entry. */
    private Map<String, Map<String, KernelUsage>> others() {
        Set<KernelVariant> tiled = AttentionKernels.variants().stream().map(Variant::kernel)
            .collect(Collectors.toSet());
        Map<String, Map<String, Map<String, KernelUsage>>> functions = new TreeMap<>();
        KernelVariants.all().stream().filter(variant -> !tiled.contains(variant)).forEach(variant -> {
            Map<Boolean, List<String>> defines = variant.defines().stream()
                .collect(Collectors.partitioningBy(define -> define.startsWith(TYPE)));
            String type = String.join("", defines.get(true)).replace(TYPE, "");
            functions.computeIfAbsent(variant.function(), function -> new LinkedHashMap<>())
                .computeIfAbsent(name(variant.function(), defines.get(false)), name -> new LinkedHashMap<>())
                .put(type, usages.get(variant));
        });
        Map<String, Map<String, KernelUsage>> rows = new LinkedHashMap<>();
        functions.values().forEach(rows::putAll);
        return rows;
    }

    private static String name(String function, List<String> defines) {
        return function + (defines.isEmpty() ? "" : " " + String.join(" ", defines));
    }

    /** The number, or one for each type where they differ. */
    private static String cell(Map<String, KernelUsage> types, ToIntFunction<KernelUsage> number) {
        List<String> numbers = types.values().stream().map(usage -> "" + number.applyAsInt(usage)).distinct().toList();
        return numbers.size() == 1 ? numbers.getFirst() : types.entrySet().stream()
            .map(type -> type.getKey() + " " + number.applyAsInt(type.getValue())).collect(Collectors.joining(", "));
    }
}
