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

/** One training step of a run, sample by sample, on a replica with the weights of then and a batch of one sample. */
final class ReplayedStep {
    private final Replica replica;
    private final Era5Dataset dataset;
    private final TrainingConfig training;
    private final Set<String> narrow; // layers whose outputs fp16 would have to hold
    private final long before; // steps
    private final int epoch;
    private final int step; // of the epoch

    /**
     * What came of a sample.
     *
     * @param sample   its number
     * @param loss     its relative L2 loss
     * @param layer    the first layer whose output is not finite
     * @param gradient the first parameter, in the order of the backward pass, whose gradient is not finite
     * @param data     where the data are not finite
     * @param peak     the largest magnitude of an output that would be in fp16, were that the type of products
     */
    record Finding(long sample, double loss, Optional<String> layer, Optional<String> gradient, Optional<String> data,
        FiniteScan.Peak peak) {
        boolean isFinite() {
            return Double.isFinite(loss) && layer.isEmpty() && gradient.isEmpty();
        }

        /** A line for the reader. */
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
     * The step after {@code before} steps.
     *
     * @param state of the run then; where its epoch was done but for the validation, the step is the next epoch's
     */
    ReplayedStep(Replica replica, Era5Dataset dataset, RunConfig config, long before, TrainingState state) {
        this.replica = replica;
        this.dataset = dataset;
        training = config.training();
        narrow = HalfPrecisionOutputs.layers(config.model());
        this.before = before;
        boolean done = state.step() == sampler(0).steps();
        epoch = done ? state.epoch() + 1 : state.epoch();
        step = done ? 0 : state.step();
    }

    /** All samples of the global batch, dealt out to as many ranks: each has one. */
    private DistributedSampler sampler(int place) {
        int batch = training.globalBatchSize();
        return new DistributedSampler(dataset.size(), batch, batch, place, true, training.seed());
    }

    /** The first weight that is not a finite number from the start. */
    Optional<String> firstNonFiniteWeight() {
        FiniteScan weights = new FiniteScan(replica.model().device());
        replica.model().parameters().stateDict().forEach((name, weight) -> weights.output(List.of(name), weight));
        return weights.firstName();
    }

    /** Loss, outputs and gradients of the sample at one place of the global batch, with the random masks of then. */
    Finding replay(int place) {
        try (DataLoader loader = new DataLoader(replica.model().device(), dataset, sampler(place), 0);
            DataLoader.Epoch samples = loader.epoch(epoch, step);
            Batch batch = samples.next()) {
            FiniteScan outputs = new FiniteScan(replica.model().device());
            FiniteScan narrowOutputs = new FiniteScan(replica.model().device());
            Pass.Masks masks = new Pass.Masks(training.seed(), before,
                new IndexSpan(place, 1, training.globalBatchSize()));
            double loss = replica.step().gradients(batch.input(), batch.target(), masks, (modules, y) -> {
                outputs.output(modules, y);
                if (narrow.containsAll(modules)) {
                    narrowOutputs.output(modules, y);
                }
            });
            FiniteScan gradients = new FiniteScan(replica.model().device());
            List<Map.Entry<String, Tensor>> backwards =
                List.copyOf(replica.model().parameters().gradientDict().entrySet()).reversed();
            backwards.forEach(entry -> gradients.output(List.of(entry.getKey()), entry.getValue()));
            long sample = batch.samples()[0];
            Optional<String> data = Double.isFinite(loss) ? Optional.empty()
                : dataset.firstNonFinite(sample).map(Object::toString);
            return new Finding(sample, loss, outputs.firstName(), gradients.firstName(), data, narrowOutputs.peak());
        }
    }

    /** Which step it is. */
    @Override
    public String toString() {
        return "step %d (epoch %d, step %d of it; %d samples)".formatted(before + 1, epoch + 1, step + 1,
            training.globalBatchSize());
    }
}
