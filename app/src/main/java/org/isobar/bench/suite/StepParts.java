package org.isobar.bench.suite;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import org.isobar.bench.measure.StepResult;
import org.isobar.bench.measure.Timing;
import org.isobar.bench.report.BenchFiles;

/** Measures training steps in rounds of Isobar, current PyTorch and the PyTorch of this machine's Python. */
final class StepParts {
    private static final Duration SETUP_LIMIT = Duration.ofSeconds(300);

    private final SuiteSetup setup;
    private final PartRunner parts;
    private final Runnable afterSetting;
    private List<PyTorchProgram> programs; // null until the first step of Isobar is there to try them on

    /**
     * How a preset is measured.
     *
     * @param batch   samples per step
     * @param rounds  number of rounds of all programs
     * @param warmup  steps before the measurement
     * @param steps   measured steps
     * @param limit   time limit of one program in one round
     * @param unfused rounds of a PyTorch without fused attention
     */
    private record Preset(String config, int batch, int rounds, int warmup, int steps, Duration limit,
        Participation unfused) { }

    /** Rounds in which a program runs. */
    private enum Participation {
        /** Every round. */
        FULL,
        /** The first round, with one warmup step and one measured step. */
        BRIEF,
        /** None. */
        NONE
    }

    /** @param afterSetting runs after each preset and operand type */
    StepParts(SuiteSetup setup, PartRunner parts, Runnable afterSetting) {
        this.setup = setup;
        this.parts = parts;
        this.afterSetting = afterSetting;
    }

    void run() {
        for (Preset preset : presets()) {
            for (String products : List.of("fp32", "bf16")) {
                setting(preset, products);
                afterSetting.run();
            }
        }
    }

    private List<Preset> presets() {
        Preset demo = new Preset("demo", 4, 5, 300, 60, Duration.ofSeconds(120), Participation.FULL);
        return switch (setup.size()) {
            case WHOLE -> List.of(demo,
                new Preset("base", 1, 3, 2, 3, Duration.ofSeconds(150), Participation.BRIEF),
                new Preset("mp", 1, 2, 1, 2, Duration.ofSeconds(240), Participation.NONE));
            case QUICK -> List.of(demo);
            case REHEARSED -> List.of(new Preset("tiny", 2, 2, 1, 2, Duration.ofSeconds(120), Participation.BRIEF));
        };
    }

    private void setting(Preset preset, String products) {
        String setting = "step-" + preset.config + "-" + products;
        if (products.equals("bf16") && setup.noBf16().isPresent()) {
            parts.skip(setting, setup.noBf16().get());
            return;
        }
        String first = setting + "-isobar-1";
        for (int round = 1; round <= preset.rounds; round++) {
            isobar(preset, products, setting + "-isobar-" + round, round);
            if (!Files.exists(parts.json(first))) {
                return; // PyTorch reads the settings of the step from this file
            }
            programs = programs == null ? availablePrograms(first) : programs;
            for (PyTorchProgram program : programs) {
                pytorch(preset, program, first, setting + "-" + program.name() + "-" + round, round);
            }
        }
    }

    private void isobar(Preset preset, String products, String name, int round) {
        List<String> command = new ArrayList<>(setup.isobar());
        command.addAll(List.of("bench", "step", "--device=cpu", "--config=" + preset.config,
            "--amp_mode=" + (products.equals("fp32") ? "none" : products), "--local_batch_size=" + preset.batch,
            "--warmup_steps=" + preset.warmup, "--steps=" + preset.steps, "--json=" + parts.json(name)));
        if (round > 1) {
            command.add("--whole_steps");
        }
        if (parts.timing() == Timing.REHEARSED) {
            command.add("--rehearse");
        }
        parts.run(new PartRunner.Plan(name, command, preset.limit));
    }

    /** Returns the PyTorch programs after a trial run, which builds and downloads what they need before measuring. */
    private List<PyTorchProgram> availablePrograms(String first) {
        Path like = like(first, "like-ready");
        return Stream.of(PyTorchProgram.pytorch(setup), PyTorchProgram.python(setup)).map(program -> {
            String name = "ready-" + program.name();
            if (!program.isAvailable()) {
                parts.skip(name, program.absence());
                return program;
            }
            return parts.tryOut(new PartRunner.Plan(name, program.step(like, parts.json(name), Timing.REHEARSED),
                SETUP_LIMIT))
                ? program : program.absent("see " + name);
        }).toList();
    }

    private void pytorch(Preset preset, PyTorchProgram program, String first, String name, int round) {
        Participation rounds = program.attention() == PyTorchProgram.Attention.STORED ? preset.unfused
            : Participation.FULL;
        if (round > 1 && (rounds != Participation.FULL || !program.isAvailable())) {
            return;
        }
        if (!program.isAvailable() || rounds == Participation.NONE) {
            parts.skip(name, program.isAvailable() ? "a step takes minutes without fused attention"
                : program.absence());
            return;
        }
        Path like = rounds == Participation.BRIEF ? like(first, "like-" + name) : parts.json(first);
        parts.run(new PartRunner.Plan(name, program.step(like, parts.json(name), parts.timing()),
            rounds == Participation.BRIEF ? preset.limit.multipliedBy(2) : preset.limit));
    }

    /** Writes the settings of the step with one warmup step and one measured step. */
    private Path like(String first, String name) {
        BenchFiles.write(parts.json(name), BenchFiles.read(parts.json(first), StepResult.class).withSteps(1, 1));
        return parts.json(name);
    }
}
