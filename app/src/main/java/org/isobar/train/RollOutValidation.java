package org.isobar.train;

import java.util.Optional;

import org.isobar.config.RunConfig;
import org.isobar.device.Device;
import org.isobar.device.HostBuffer;
import org.isobar.nn.Pass;
import org.isobar.tensor.DType;
import org.isobar.train.step.Replica;

/**
 * Scores a model in training over several steps: it is rolled out from a few times of the validation years. Every
 * replica computes all of them, so that nothing is reduced over ranks.
 */
final class RollOutValidation {
    private RollOutValidation() { }

    /**
     * Rolls the model out and scores it; empty if there is nothing to score. All ranks call this method together.
     *
     * @param steps of each roll-out
     * @param most  number of starts, at most
     * @throws org.isobar.fault.UserException if the data cannot be read
     */
    static Optional<RollOutFields.Scores> run(RunConfig config, Replica replica, RollOutFields.Source source, int steps,
        int most) {
        Device device = replica.model().device();
        int batch = config.training().localBatchSize();
        try (RollOutFields fields = source.open(steps, most).orElse(null)) {
            if (fields == null) {
                return Optional.empty();
            }
            try (HostBuffer images = device.hostBuffer(DType.F32, config.model().input(batch))) {
                for (int first = 0; first < fields.starts(); first += batch) {
                    fields.begin(first, Math.min(batch, fields.starts() - first));
                    for (int step = 1; step <= steps; step++) {
                        fields.write(images, step);
                        replica.model().forward(images.toDevice(), new Pass.None(), Pass.Inspector.NONE);
                        device.download(fields.forecasts(), replica.model().prediction());
                        images.release();
                        fields.score(step);
                    }
                }
            }
            return Optional.of(fields.scores());
        }
    }
}
