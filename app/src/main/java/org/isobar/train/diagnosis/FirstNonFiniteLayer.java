package org.isobar.train.diagnosis;

import java.util.Optional;

import org.isobar.nn.Pass;
import org.isobar.tensor.Tensor;
import org.isobar.train.step.Replica;

/** Finds the first layer of a model whose output is not finite. */
public final class FirstNonFiniteLayer {
    private FirstNonFiniteLayer() { }

    /**
     * Repeats the forward pass of a batch in the run's data types and scans the output of each layer. Each rank scans
     * its own share. All ranks call this together and get the same result: the first such layer on any rank.
     *
     * @param input      this rank's samples
     * @param randomness random masks of the step
     * @return PyTorch's name of the first layer whose output is not finite; empty if all are finite
     */
    public static Optional<String> find(Replica replica, Tensor input, Pass.Randomness randomness) {
        FiniteScan scan = new FiniteScan(replica.model().device());
        replica.model().forward(input, randomness, scan);
        int layers = scan.names().size();
        long fromTheEnd = replica.consensus().largest(scan.first() < 0 ? 0 : layers - scan.first());
        return fromTheEnd == 0 ? Optional.empty() : Optional.of(scan.names().get((int) (layers - fromTheEnd)));
    }
}
