package org.isobar.train.diagnosis;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import org.isobar.config.RunConfig;
import org.isobar.config.TrainingConfig;
import org.isobar.data.Batch;
import org.isobar.data.DataLoader;
import org.isobar.data.DistributedSampler;
import org.isobar.data.Era5Dataset;
import org.isobar.device.ops.IndexSpan;
import org.isobar.nn.Pass;
import org.isobar.tensor.Tensor;
import org.isobar.train.saving.TrainingState;
import org.isobar.train.step.Replica;

/** Repeats one training step sample by sample, on a replica with a local batch of 1 and the checkpoint's weights. */
final class ReplayedStep {
    private final Replica replica;
    private final Era5Dataset dataset;
    private final TrainingConfig training;
    private final Set<String> fp16Layers; // layers with fp16 outputs if the run uses fp16
    private final long previousSteps; // of the run
    private final int epoch;
    private final int step; // of the epoch

    /**
     * The result of one sample.
     *
     * @param sample   its index in the dataset
     * @param loss     its relative L2 loss
     * @param layer    the first layer whose output is not finite
     * @param gradient the first parameter, in the order of the backward pass, whose gradient is not finite
     * @param data     position of the first non-finite value in the data; empty if the loss is finite
     * @param peak     the largest magnitude in the layer outputs that are fp16 with fp16 compute
     */
    record Finding(long sample, double loss, Optional<String> layer, Optional<String> gradient, Optional<String> data,
        FiniteScan.Peak peak) {
        boolean isFinite() {
            return Double.isFinite(loss) && layer.isEmpty() && gradient.isEmpty();
        }

        /** One line for the user. */
        @Override
        public String toString() {
            List<String> words = new ArrayList<>(List.of("sample " + sample + ": loss " + loss));
            layer.ifPresent(name -> words.add("first layer whose output is not finite: " + name));
            gradient.ifPresent(name -> words.add("first parameter whose gradient is not finite: " + name));
            data.ifPresent(place -> words.add("the data are not finite: " + place));
            return String.join("; ", words);
        }
    }

    /**
     * The step that follows the first {@code previousSteps} steps of the run.
     *
     * @param state state of the run before the step; if all steps of its epoch are done, the step is the first of the
     *              next epoch
     */
    ReplayedStep(Replica replica, Era5Dataset dataset, RunConfig config, long previousSteps, TrainingState state) {
        this.replica = replica;
        this.dataset = dataset;
        training = config.training();
        fp16Layers = HalfPrecisionOutputs.layers(config.model());
        this.previousSteps = previousSteps;
        boolean done = state.step() == sampler(0).steps();
        epoch = done ? state.epoch() + 1 : state.epoch();
        step = done ? 0 : state.step();
    }

    /** A sampler with local batch 1 that yields sample {@code place} of each global batch. */
    private DistributedSampler sampler(int place) {
        int batch = training.globalBatchSize();
        return new DistributedSampler(dataset.size(), batch, batch, place, true, training.seed());
    }

    /** Name of the first weight that is not finite in the checkpoint; empty if all are finite. */
    Optional<String> firstNonFiniteWeight() {
        FiniteScan weights = new FiniteScan(replica.model().device());
        replica.model().parameters().stateDict().forEach((name, weight) -> weights.output(List.of(name), weight));
        return weights.firstName();
    }

    /** Runs forward and backward for sample {@code place} of the global batch, with the run's random masks. */
    Finding replay(int place) {
        try (DataLoader loader = new DataLoader(replica.model().device(), dataset, sampler(place), 0);
            DataLoader.Epoch samples = loader.epoch(epoch, step);
            Batch batch = samples.next()) {
            FiniteScan outputs = new FiniteScan(replica.model().device());
            FiniteScan fp16Outputs = new FiniteScan(replica.model().device());
            Pass.Masks masks = new Pass.Masks(training.seed(), previousSteps,
                new IndexSpan(place, 1, training.globalBatchSize()));
            double loss = replica.step().gradients(batch.input(), batch.target(), masks, (modules, y) -> {
                outputs.output(modules, y);
                if (fp16Layers.containsAll(modules)) {
                    fp16Outputs.output(modules, y);
                }
            });
            FiniteScan gradients = new FiniteScan(replica.model().device());
            List<Map.Entry<String, Tensor>> backwards =
                List.copyOf(replica.model().parameters().gradientDict().entrySet()).reversed();
            backwards.forEach(entry -> gradients.output(List.of(entry.getKey()), entry.getValue()));
            long sample = batch.samples()[0];
            Optional<String> data = Double.isFinite(loss) ? Optional.empty()
                : dataset.firstNonFinite(sample).map(Object::toString);
            return new Finding(sample, loss, outputs.firstName(), gradients.firstName(), data, fp16Outputs.peak());
        }
    }

    /** Number, epoch and batch size of the step. */
    @Override
    public String toString() {
        return "step %d (epoch %d, step %d of it; %d samples)".formatted(previousSteps + 1, epoch + 1, step + 1,
            training.globalBatchSize());
    }
}
