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
 * One way of taking the same step, beside Isobar's ordinary one in the same run.
 *
 * @param config          the preset
 * @param products        what products take in
 * @param program         isobar or pytorch
 * @param mode            how it was run
 * @param version         the program's, where it has told; else empty
 * @param rounds          seconds of a step: median and spread of each round; empty where nothing was measured
 * @param seconds         the median of the rounds' medians; null likewise
 * @param isobarRatio     Isobar's ordinary step over this one: below 1 where Isobar is faster; null likewise
 * @param ratioRange      the same of each round that both have, by itself; null where that is one or none
 * @param samplesPerSecond what the step comes to; null likewise
 * @param flopsPerSecond  useful ones; null likewise
 * @param ownBytes        most that the program took for tensors
 * @param peakMib         most of the device's memory, as nvidia-smi has it; null where nobody looked
 * @param memory          most of the program's processes; null where nobody looked
 * @param losses          of the first steps
 * @param lossDifference  largest relative difference of the first losses from Isobar's; null where there are none
 * @param lossTolerance   most that it may be, by what products take in
 */
public record Comparison(String config, String products, String program, String mode, String version,
    List<Spread> rounds, Double seconds, Double isobarRatio, Spread ratioRange, Double samplesPerSecond,
    Double flopsPerSecond, long ownBytes, Double peakMib, ProcessMemory memory, List<Double> losses,
    Double lossDifference, double lossTolerance) {
    private static final String ISOBAR = "isobar";
    private static final String VERSION = "torch";

    /** Who took the step, and how. */
    public String name() {
        return version.isEmpty() ? program + " " + mode : program + " " + version + " " + mode;
    }

    /** Whether it is Isobar. */
    boolean ofIsobar() {
        return program.equals(ISOBAR);
    }

    /** Whether both computed the same; false, too, where one has not told its losses. */
    public boolean agrees() {
        return lossDifference != null && lossDifference <= lossTolerance;
    }

    /** All of a benchmark, the ways of one preset and type together, Isobar's ordinary one first. */
    static List<Comparison> of(BenchFiles files) {
        Map<List<String>, Map<List<String>, List<String>>> settings = new LinkedHashMap<>();
        files.steps().forEach((part, step) -> settings
            .computeIfAbsent(List.of(step.config(), step.products()), setting -> new LinkedHashMap<>())
            .computeIfAbsent(List.of(step.program(), step.mode(), version(step), series(part)),
                way -> new ArrayList<>()).add(part));
        List<Comparison> comparisons = new ArrayList<>();
        settings.values().forEach(ways -> {
            List<String> base = ways.entrySet().stream()
                .filter(way -> way.getKey().subList(0, 2).equals(List.of(ISOBAR, "steps"))).map(Map.Entry::getValue)
                .findFirst().orElse(List.of());
            Stream.concat(Stream.of(base), ways.values().stream().filter(parts -> parts != base))
                .filter(parts -> !parts.isEmpty()).forEach(parts -> comparisons.add(of(files, parts, base)));
        });
        return comparisons;
    }

    private static Comparison of(BenchFiles files, List<String> parts, List<String> base) {
        StepResult step = files.steps().get(parts.getFirst());
        List<Spread> rounds = rounds(files, parts);
        Double seconds = median(rounds);
        Double isobar = median(rounds(files, base));
        List<BenchmarkPart> noted = files.parts().stream().filter(part -> parts.contains(part.name())).toList();
        OptionalDouble peak = noted.stream().map(BenchmarkPart::peakMib).filter(Objects::nonNull)
            .mapToDouble(Double::doubleValue).max();
        return new Comparison(step.config(), step.products(), step.program(), step.mode(), version(step), rounds,
            seconds, seconds == null || isobar == null ? null : Double.valueOf(isobar / seconds),
            range(files, base, parts),
            seconds == null ? null : Double.valueOf(step.batch() / seconds),
            seconds == null ? null : Double.valueOf(step.flops() / seconds),
            parts.stream().mapToLong(part -> files.steps().get(part).memory().own()).max().orElseThrow(),
            peak.isPresent() ? Double.valueOf(peak.getAsDouble()) : null,
            noted.stream().map(BenchmarkPart::memory).filter(Objects::nonNull).reduce(ProcessMemory::max).orElse(null),
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

    /** A part's name without the number of the round. */
    private static String series(String part) {
        return part.replaceFirst("-\\d+$", "");
    }

    /** Rounds have the same number in the names of both parts: one of them may lack some. */
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

    /** Of those that both have told. */
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
     * A sixteenth of the largest relative error of a rounded operand: in a loss, errors of many operands cancel out.
     * (For base in bf16 against fp32, the three first losses differ by 1.6e-5 at most.) For fp32, what sums of another
     * order come to.
     */
    private static double tolerance(String products) {
        return switch (products) {
            case "bf16" -> 0x1p-13;
            case "fp16", "tf32" -> 0x1p-16;
            default -> 1e-5;
        };
    }
}
