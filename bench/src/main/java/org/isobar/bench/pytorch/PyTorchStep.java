package org.isobar.bench.pytorch;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.Context;
import org.bytedeco.pytorch.global.torch;
import org.isobar.bench.measure.Spread;
import org.isobar.bench.measure.StepResult;
import org.isobar.bench.measure.Timing;
import org.isobar.bench.report.BenchFiles;
import org.isobar.fault.UserException;
import org.isobar.os.ProcessMemory;

/**
 * Measures the step of a result of {@code isobar bench step} in PyTorch on the CPU, with the same model, weights, batch
 * and types. {@code bench/pytorch.sh} sets up the environment in which PyTorch is fastest; the result contains the
 * environment variables in {@code REPORTED_VARIABLES}.
 */
public final class PyTorchStep {
    private static final int INVALID_INPUT = 2;
    private static final int LOSSES = 3; // reported
    private static final List<String> REPORTED_VARIABLES = List.of("LD_PRELOAD", "OPENBLAS_CORETYPE", "OMP_NUM_THREADS",
        "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_");
    private static final Pattern VERSION = Pattern.compile("TORCH_VERSION=([^,]+)");

    private PyTorchStep() { }

    /** Exits with code 2 on invalid input. */
    public static void main(String[] args) {
        try {
            Arguments arguments = Arguments.parse(args);
            StepResult like = BenchFiles.read(arguments.like(), StepResult.class);
            BenchFiles.write(arguments.json(), measure(like, arguments.timing()));
        } catch (UserException failure) {
            System.err.println("pytorch: " + failure.getMessage());
            System.exit(INVALID_INPUT);
        }
    }

    /**
     * Unpacks all libraries of PyTorch before the first one is loaded. JavaCPP would unpack and load them one by one,
     * and the dynamic linker could then resolve dependencies to another PyTorch on the system.
     */
    private static void unpack() {
        try {
            Loader.cacheResources(torch.class, "/org/bytedeco/pytorch/" + Loader.getPlatform() + "/");
        } catch (IOException failure) {
            throw new UserException("cannot unpack PyTorch's libraries: " + failure.getMessage());
        }
    }

    private static StepResult measure(StepResult like, Timing timing) {
        unpack();
        Context.setFlushDenormal(true);
        Training training = new Training(like);
        for (int step = 0; step < like.warmup(); step++) {
            training.step();
        }
        double[] seconds = new double[like.steps()];
        for (int step = 0; step < seconds.length; step++) {
            seconds[step] = training.step();
        }
        List<Double> losses = training.losses();
        long resident = ProcessMemory.of(ProcessHandle.current().pid()).map(ProcessMemory::peak).orElse(0L);
        return new StepResult("pytorch", "eager", like.config(), like.products(), like.model(), like.batch(),
            like.learningRate(), like.warmup(), like.steps(), like.flops(),
            losses.subList(0, Math.min(LOSSES, losses.size())),
            timing == Timing.REHEARSED ? null : Spread.of(seconds), new StepResult.Memory(0, resident), List.of(),
            facts());
    }

    private static Map<String, String> facts() {
        Map<String, String> facts = new LinkedHashMap<>();
        facts.put("torch", version());
        facts.put("threads", String.valueOf(torch.get_num_threads()));
        facts.put("vectors", torch.get_cpu_capability().getString());
        facts.put("Adam", "fused");
        facts.put("attention", "fp32, scaled_dot_product_attention");
        REPORTED_VARIABLES.forEach(name -> facts.put(name, Objects.requireNonNullElse(System.getenv(name), "not set")));
        return facts;
    }

    private static String version() {
        Matcher version = VERSION.matcher(torch.show_config().getString());
        return version.find() ? version.group(1) : "unknown";
    }
}
