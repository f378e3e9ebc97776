package org.isobar.bench.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.bench.measure.BenchmarkPart;
import org.isobar.bench.measure.Spread;
import org.isobar.bench.measure.StepResult;
import org.isobar.os.ProcessMemory;

/**
 * A program and mode that ran a training step, compared with Isobar's default mode in the same benchmark. Numbers that
 * were not measured are null.
 *
 * @param config          the preset
 * @param products        operand type of matrix products
 * @param program         isobar or pytorch
 * @param mode            mode of execution
 * @param version         version of the program; empty if unknown
 * @param rounds          seconds per step of each round; empty if not measured
 * @param seconds         median of the rounds' medians
 * @param isobarRatio     time of Isobar's default mode / time of this one: below 1 if Isobar is faster
 * @param ratioRange      range of that ratio over the rounds that both ran; null for fewer than two rounds
 * @param samplesPerSecond samples per second
 * @param flopsPerSecond  useful floating-point operations per second
 * @param ownBytes        peak memory that the program allocated for tensors
 * @param peakMib         peak device memory according to nvidia-smi
 * @param memory          peak memory of the program's processes
 * @param losses          losses of the first steps
 * @param lossDifference  largest relative difference of the first losses from Isobar's
 * @param lossTolerance   largest difference allowed for that operand type
 */
public record StepComparison(String config, String products, String program, String mode, String version,
    List<Spread> rounds, Double seconds, Double isobarRatio, Spread ratioRange, Double samplesPerSecond,
    Double flopsPerSecond, long ownBytes, Double peakMib, ProcessMemory memory, List<Double> losses,
    Double lossDifference, double lossTolerance) {
    private static final String ISOBAR = "isobar";
    private static final String VERSION = "torch";

    /** Program, version and mode. */
    public String name() {
        return version.isEmpty() ? program + " " + mode : program + " " + version + " " + mode;
    }

    /** Whether the program is Isobar. */
    boolean isIsobar() {
        return program.equals(ISOBAR);
    }

    /** Whether the losses agree with Isobar's; false if losses are missing. */
    public boolean agrees() {
        return lossDifference != null && lossDifference <= lossTolerance;
    }

    /**
     * Compares all steps of a benchmark, grouped by preset and type, with Isobar's default mode first in each group.
     */
    static List<StepComparison> of(BenchFiles files) {
        Map<List<String>, Map<List<String>, List<String>>> settings = new LinkedHashMap<>();
        files.steps().forEach((part, step) -> settings
            .computeIfAbsent(List.of(step.config(), step.products()), setting -> new LinkedHashMap<>())
            .computeIfAbsent(List.of(step.program(), step.mode(), version(step), series(part)),
                way -> new ArrayList<>()).add(part));
        List<StepComparison> comparisons = new ArrayList<>();
        settings.values().forEach(ways -> {
            List<String> base = ways.entrySet().stream()
                .filter(way -> way.getKey().subList(0, 2).equals(List.of(ISOBAR, "steps"))).map(Map.Entry::getValue)
                .findFirst().orElse(List.of());
            Stream.concat(Stream.of(base), ways.values().stream().filter(parts -> parts != base))
                .filter(parts -> !parts.isEmpty()).forEach(parts -> comparisons.add(of(files, parts, base)));
        });
        return comparisons;
    }

    private static StepComparison of(BenchFiles files, List<String> parts, List<String> base) {
        StepResult step = files.steps().get(parts.getFirst());
        List<Spread> rounds = rounds(files, parts);
        Double seconds = median(rounds);
        Double isobar = median(rounds(files, base));
        List<BenchmarkPart> measuredParts = files.parts().stream().filter(part -> parts.contains(part.name())).toList();
        OptionalDouble peak = measuredParts.stream().map(BenchmarkPart::peakMib).filter(Objects::nonNull)
            .mapToDouble(Double::doubleValue).max();
        return new StepComparison(step.config(), step.products(), step.program(), step.mode(), version(step), rounds,
            seconds, seconds == null || isobar == null ? null : Double.valueOf(isobar / seconds),
            range(files, base, parts),
            seconds == null ? null : Double.valueOf(step.batch() / seconds),
            seconds == null ? null : Double.valueOf(step.flops() / seconds),
            parts.stream().mapToLong(part -> files.steps().get(part).memory().own()).max().orElseThrow(),
            peak.isPresent() ? Double.valueOf(peak.getAsDouble()) : null,
            measuredParts.stream().map(BenchmarkPart::memory).filter(Objects::nonNull).reduce(ProcessMemory::max)
            .orElse(null),
            step.losses(),
            base.isEmpty() ? null : difference(step.losses(), files.steps().get(base.getFirst()).losses()),
            tolerance(step.products()));
    }

    private static List<Spread> rounds(BenchFiles files, List<String> parts) {
        return parts.stream().map(part -> files.steps().get(part).stepSeconds()).filter(Objects::nonNull).toList();
    }

    private static String version(StepResult step) {
        return step.facts().getOrDefault(VERSION, "");
    }

    /** Name of a part without the number of the round. */
    private static String series(String part) {
        return part.replaceFirst("-\\d+$", "");
    }

    /** Pairs rounds by the number in the names of the parts, because some rounds may be missing. */
    private static Spread range(BenchFiles files, List<String> base, List<String> others) {
        double[] ratios = others.stream().flatMap(other -> base.stream()
            .filter(part -> round(part).equals(round(other)))
            .flatMap(part -> ratio(files.steps().get(part), files.steps().get(other)).stream()))
            .mapToDouble(Double::doubleValue).toArray();
        return ratios.length < 2 ? null : Spread.of(ratios);
    }

    private static String round(String part) {
        return part.substring(series(part).length());
    }

    private static Optional<Double> ratio(StepResult one, StepResult other) {
        return one.stepSeconds() == null || other.stepSeconds() == null ? Optional.empty()
            : Optional.of(one.stepSeconds().median() / other.stepSeconds().median());
    }

    private static Double median(List<Spread> rounds) {
        return rounds.isEmpty() ? null
            : Double.valueOf(Spread.of(rounds.stream().mapToDouble(Spread::median).toArray()).median());
    }

    /** Compares the losses that both programs reported. */
    private static Double difference(List<Double> losses, List<Double> expected) {
        int both = Math.min(losses.size(), expected.size());
        if (both == 0) {
            return null;
        }
        return IntStream.range(0, both)
            .mapToDouble(i -> Math.abs(losses.get(i) - expected.get(i)) / Math.abs(expected.get(i))).max()
            .orElseThrow();
    }

    /**
     * Returns 1/16 of the largest relative error of a rounded operand, because errors of many operands cancel in a
     * loss. (With base in bf16 and fp32, the first three losses differ by at most 1.6e-5.) The tolerance of fp32 allows
     * for another order of summation.
     */
    private static double tolerance(String products) {
        return switch (products) {
            case "bf16" -> 0x1p-13;
            case "fp16", "tf32" -> 0x1p-16;
            default -> 1e-5;
        };
    }
}
