package org.isobar.plan;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

import org.isobar.config.RunConfig;
import org.isobar.device.Device;
import org.isobar.device.DeviceType;
import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.fault.UserException;
import org.isobar.os.HostMachine;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MachineFile;
import org.isobar.plan.machine.MachineKeys;
import org.isobar.train.RunContext;
import org.isobar.vit.VitConfig;

/**
 * What a machine file predicts of a run, if it was calibrated on this very machine: its operations were measured on a
 * processor of this name with as many cores, or on this model of GPU.
 *
 * @param machine what its machine file says; empty if there is none
 */
public record MachineExpectation(Optional<Machine> machine) implements RunContext.Expectation {
    private static final String VARIABLE = "ISOBAR_MACHINE";
    private static final double GIB = 1L << 30;
    private static final double PERCENT = 100;
    private static final double FAR = 0.25;

    /**
     * The machine file that variable {@code ISOBAR_MACHINE} names, else {@code config/machine.yaml} of the program.
     *
     * @param home directory of the program
     * @throws UserException if the file is missing or wrong
     */
    public static MachineExpectation of(Map<String, String> environment, Path home) {
        Path usual = home.resolve("config/machine.yaml");
        return new MachineExpectation(Optional.ofNullable(environment.get(VARIABLE)).filter(file -> !file.isBlank())
            .or(() -> Optional.of(usual).filter(Files::isRegularFile).map(Path::toString))
            .map(file -> MachineFile.load(VARIABLE, file)));
    }

    @Override
    public Optional<Expected> of(RunConfig config, Device device) {
        return machine.filter(known -> config.model() instanceof VitConfig && isThis(known, device))
            .map(known -> new Prediction(known, predict(config, known)));
    }

    private static boolean isThis(Machine machine, Device device) {
        if (machine.operations().isEmpty() || machine.isGpu() != (device.type() == DeviceType.CUDA)) {
            return false;
        }
        return machine.isGpu() ? device.description().contains(machine.device())
            : machine.device().equals(HostMachine.processor())
                && machine.value(MachineKeys.CORES) == Runtime.getRuntime().availableProcessors();
    }

    private static PlannedLayout predict(RunConfig config, Machine machine) {
        PlanRequest request = new PlanRequest(config, machine, Program.ISOBAR, config.grid().worldSize(),
            PlanRequest.Fixed.NOTHING);
        return Planner.predict(request, layout(config));
    }

    /** The layout of a configured run. */
    static PlanLayout layout(RunConfig config) {
        ProcessGrid grid = config.grid();
        return new PlanLayout(grid.size(Axis.TP), grid.size(Axis.CP), grid.size(Axis.DP), grid.order().stream()
            .filter(axis -> grid.size(axis) > 1).map(Axis::toString).collect(Collectors.joining("-")),
            config.training().localBatchSize() * config.training().microBatches(),
            config.training().microBatches(), config.training().ampMode(), config.model().recompute(),
            config.training().enableCudaGraphs());
    }

    /** A prediction of a machine file. */
    private record Prediction(Machine machine, PlannedLayout planned) implements Expected {
        @Override
        public String start() {
            return String.format(Locale.ROOT, "Expected: %.4g samples/s (%.4g to %.4g), %.2f GB on a rank, by machine "
                + "file %s", planned.samplesPerSecond(), planned.low(), planned.high(), planned.memoryBytes() / GIB,
                machine.name());
        }

        @Override
        public Outcome end(double samplesPerSecond) {
            double apart = samplesPerSecond / planned.samplesPerSecond() - 1;
            String line = String.format(Locale.ROOT, "Measured: %.4g samples/s, %+.0f %% from the expected %.4g",
                samplesPerSecond, PERCENT * apart, planned.samplesPerSecond());
            boolean far = Math.abs(apart) > FAR;
            return new Outcome(far ? line + "; expected step of " + breakdown() : line, far);
        }

        private String breakdown() {
            return String.format(Locale.ROOT, "%.4g s: ", planned.stepSeconds()) + planned.breakdown().entrySet()
                .stream().filter(part -> part.getValue() > planned.stepSeconds() / PERCENT)
                .map(part -> String.format(Locale.ROOT, "%s %.0f %%", part.getKey(),
                    PERCENT * part.getValue() / planned.stepSeconds())).collect(Collectors.joining(", "));
        }
    }
}
