package org.isobar.checkpoint;

import org.isobar.checkpoint.safetensors.SafeTensorsWriter;
import org.isobar.distributed.Shard;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/**
 * A slice of a tensor that a rank is to write.
 *
 * @param name   of the tensor: a weight's in the {@code state_dict}, or {@link #firstMoment} or {@link #secondMoment}
 * @param shape  of the whole tensor
 * @param shard  which slice it is
 * @param values its elements
 */
public record TensorSlice(String name, Shape shape, Shard shard, SafeTensorsWriter.Values values) {
    private static final String FIRST_MOMENT = "exp_avg.";
    private static final String SECOND_MOMENT = "exp_avg_sq.";

    /** Name of a weight's running mean of gradients: PyTorch's key in the optimizer's state, and the weight's name. */
    public static String firstMoment(String weight) {
        return FIRST_MOMENT + weight;
    }

    /** Name of a weight's running mean of squared gradients. */
    public static String secondMoment(String weight) {
        return SECOND_MOMENT + weight;
    }

    /** Whether a tensor of that name is a weight, and no moment of one. */
    public static boolean isWeight(String name) {
        return !name.startsWith(FIRST_MOMENT) && !name.startsWith(SECOND_MOMENT);
    }

    /** Shape of the slice. */
    public Shape local() {
        return shard.local(shape);
    }

    /** Bytes that the slice takes in its file. */
    public long bytes() {
        return local().elements() * DType.F32.bytes();
    }
}
