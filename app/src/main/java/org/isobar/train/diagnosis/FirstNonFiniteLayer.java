package org.isobar.train.diagnosis;

import java.util.Optional;

import org.isobar.nn.Pass;
import org.isobar.tensor.Tensor;
import org.isobar.train.step.Replica;

/** Where in the model numbers cease to be finite. */
public final class FirstNonFiniteLayer {
    private FirstNonFiniteLayer() { }

    /**
     * Goes forward with a batch again, in the types of the run, and looks at what each layer puts out. Each rank looks
     * at its own share; all ask together and get one answer, the first of all.
     *
     * @param input      this rank's samples
     * @param randomness of the step in question
     * @return PyTorch's name of the first layer whose output is not finite; nothing if all are
     */
    public static Optional<String> find(Replica replica, Tensor input, Pass.Randomness randomness) {
        FiniteScan survey = new FiniteScan(replica.model().device());
        replica.model().forward(input, randomness, survey);
        int layers = survey.names().size();
        long fromTheEnd = replica.consensus().largest(survey.first() < 0 ? 0 : layers - survey.first());
        return fromTheEnd == 0 ? Optional.empty() : Optional.of(survey.names().get((int) (layers - fromTheEnd)));
    }
}
