package org.isobar.bench.pytorch;

import org.bytedeco.pytorch.Dispatcher;
import org.bytedeco.pytorch.GenericList;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.OperatorHandle;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorType;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Type;
import org.bytedeco.pytorch.global.torch;

/**
 * Fused Adam, {@code torch.optim.Adam(fused=True)}: one pass over memory. The C++ interface has only an unfused Adam
 * and the bindings have no method for the fused one, so the dispatcher calls the operator by its name.
 */
final class FusedAdam {
    private static final double BETA1 = 0.9;
    private static final double BETA2 = 0.95;
    private static final double EPSILON = 1e-8;

    private final OperatorHandle operator = Dispatcher.singleton().findSchemaOrThrow("aten::_fused_adam_", "");
    private final double learningRate;
    private final TensorVector weights;
    private final TensorVector means = new TensorVector();
    private final TensorVector squares = new TensorVector();
    private final TensorVector counts = new TensorVector(); // the same count for each weight
    private final Tensor count = torch.zeros();

    FusedAdam(TensorVector weights, double learningRate) {
        this.weights = weights;
        this.learningRate = learningRate;
        for (long i = 0; i < weights.size(); i++) {
            means.push_back(torch.zeros_like(weights.get(i)));
            squares.push_back(torch.zeros_like(weights.get(i)));
            counts.push_back(count);
        }
    }

    /** Updates the weights by their gradients. */
    @SuppressWarnings("try") // the guard is active while it exists
    void step(TensorVector gradients) {
        try (NoGradGuard guard = new NoGradGuard()) {
            count.add_(new Scalar(1));
            operator.callBoxed(new IValueVector(list(weights), list(gradients), list(means), list(squares),
                list(new TensorVector()), list(counts), new IValue(learningRate), new IValue(BETA1),
                new IValue(BETA2), new IValue(0.0), new IValue(EPSILON), // no weight decay
                new IValue(false), new IValue(false), // no amsgrad, minimize
                new IValue(), new IValue())); // no gradient scale
        }
    }

    private static IValue list(TensorVector tensors) {
        GenericList list = new GenericList(new Type.TypePtr(TensorType.get()));
        for (long i = 0; i < tensors.size(); i++) {
            list.push_back(new IValue(tensors.get(i)));
        }
        return new IValue(list);
    }
}
