package org.isobar.train;

import java.util.Optional;

import org.isobar.nn.Pass;
import org.isobar.tensor.Tensor;

/** Where in the model numbers cease to be finite. */
final class Diagnosis {
    private Diagnosis() { }

    /**
     * Goes forward with a batch again, in the types of the run, and looks at what each layer puts out. Each rank looks
     * at its own share; all ask together and get one answer, the first of all.
     *
     * @param input      this rank's samples
     * @param randomness of the step in question
     * @return PyTorch's name of the first layer whose output is not finite; nothing if all are
     */
    static Optional<String> firstNonFiniteLayer(Replica replica, Tensor input, Pass.Randomness randomness) {
        Survey survey = new Survey(replica.device());
        replica.forward(input, randomness, survey);
        int layers = survey.names().size();
        long fromTheEnd = replica.largestAnywhere(survey.first() < 0 ? 0 : layers - survey.first());
        return fromTheEnd == 0 ? Optional.empty() : Optional.of(survey.names().get((int) (layers - fromTheEnd)));
    }
}
