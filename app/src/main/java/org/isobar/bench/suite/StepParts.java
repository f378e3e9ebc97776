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

/** Whole training steps: Isobar, PyTorch, the PyTorch of this machine's Python, and again, a process each. */
final class StepParts {
    private static final Duration READY = Duration.ofSeconds(300);

    private final SuiteSetup setup;
    private final PartRunner parts;
    private final Runnable afterSetting;
    private List<PeerProgram> peers; // known when there is a step to try them on

    /**
     * One preset.
     *
     * @param batch  samples of a step
     * @param rounds of all programs in turn
     * @param warmup steps of each that are not measured
     * @param steps  that are
     * @param limit  of the time of one program in one round
     * @param old    how a PyTorch without fused attention joins in
     */
    private record Preset(String config, int batch, int rounds, int warmup, int steps, Duration limit,
        Participation old) { }

    /** How far a program joins in. */
    private enum Participation {
        /** In each round. */
        FULL,
        /** In the first round, with one step to warm up and one that is measured. */
        BRIEF,
        /** Not at all. */
        NONE
    }

    /** @param afterSetting is done when a preset has been measured in one type */
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
        Preset demo = new Preset("demo", 4, 5, 60, 60, Duration.ofSeconds(120), Participation.FULL);
        return switch (setup.extent()) {
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
                return; // nobody knows what to do
            }
            peers = peers == null ? peers(first) : peers;
            for (PeerProgram peer : peers) {
                peer(preset, peer, first, setting + "-" + peer.name() + "-" + round, round);
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

    /** Those that are here and run: what they need is built and downloaded now, and not while something is measured. */
    private List<PeerProgram> peers(String first) {
        Path like = like(first, "like-ready");
        return Stream.of(PeerProgram.pytorch(setup), PeerProgram.python(setup)).map(peer -> {
            String name = "ready-" + peer.name();
            if (!peer.isHere()) {
                parts.skip(name, peer.absence());
                return peer;
            }
            return parts.tryOut(new PartRunner.Plan(name, peer.step(like, parts.json(name), Timing.REHEARSED), READY))
                ? peer : peer.absent(name + " tells why");
        }).toList();
    }

    private void peer(Preset preset, PeerProgram peer, String first, String name, int round) {
        Participation share = peer.attention() == PeerProgram.Attention.STORED ? preset.old : Participation.FULL;
        if (round > 1 && (share != Participation.FULL || !peer.isHere())) {
            return;
        }
        if (!peer.isHere() || share == Participation.NONE) {
            parts.skip(name, peer.isHere() ? "without fused attention it takes minutes a step" : peer.absence());
            return;
        }
        Path like = share == Participation.BRIEF ? like(first, "like-" + name) : parts.json(first);
        parts.run(new PartRunner.Plan(name, peer.step(like, parts.json(name), parts.timing()),
            share == Participation.BRIEF ? preset.limit.multipliedBy(2) : preset.limit));
    }

    /** The same step, to be taken twice. */
    private Path like(String first, String name) {
        BenchFiles.write(parts.json(name), BenchFiles.read(parts.json(first), StepResult.class).withSteps(1, 1));
        return parts.json(name);
    }
}
