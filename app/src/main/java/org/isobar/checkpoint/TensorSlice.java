package org.isobar.checkpoint;

import org.isobar.checkpoint.safetensors.SafeTensorsWriter;
import org.isobar.distributed.Shard;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/**
 * A slice of a tensor to be written to a checkpoint.
 *
 * @param name   name of the tensor: that of a weight in the {@code state_dict}, or {@link #firstMoment} or
 *               {@link #secondMoment} of one
 * @param shape  shape of the whole tensor
 * @param shard  which slice it is
 * @param values elements of the slice
 */
public record TensorSlice(String name, Shape shape, Shard shard, SafeTensorsWriter.Values values) {
    private static final String FIRST_MOMENT = "exp_avg.";
    private static final String SECOND_MOMENT = "exp_avg_sq.";

    /**
     * Name of the running mean of a weight's gradients: PyTorch's optimizer state key, followed by the weight's name.
     */
    public static String firstMoment(String weight) {
        return FIRST_MOMENT + weight;
    }

    /** Name of the running mean of a weight's squared gradients. */
    public static String secondMoment(String weight) {
        return SECOND_MOMENT + weight;
    }

    /** Whether a tensor of that name is a weight and not a moment. */
    public static boolean isWeight(String name) {
        return !name.startsWith(FIRST_MOMENT) && !name.startsWith(SECOND_MOMENT);
    }

    /** Shape of the slice. */
    public Shape local() {
        return shard.local(shape);
    }

    /** Size of the slice in its file, in bytes. */
    public long bytes() {
        return local().elements() * DType.F32.bytes();
    }
}
