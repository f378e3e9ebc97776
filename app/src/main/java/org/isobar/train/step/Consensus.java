package org.isobar.train.step;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.zip.CRC32C;

import org.isobar.device.Device;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.Reduction;
import org.isobar.nn.Parameter;
import org.isobar.nn.ParameterStore;
import org.isobar.tensor.Tensor;

/** Reductions by which ranks agree on a value. All ranks must call each method together; all get the same result. */
public final class Consensus {
    private static final int CHUNK = 1 << 20; // bytes

    private final Device device;
    private final Communicators communicators;
    private final Communicator all;
    private final Communicator dataParallel;
    private final Tensor numbers;

    /** Uses {@code numbers} (2), F64, as the buffer of the reductions. */
    Consensus(Device device, Communicators communicators, Tensor numbers) {
        this.device = device;
        this.communicators = communicators;
        this.numbers = numbers;
        all = communicators.along(Axis.values());
        dataParallel = communicators.along(Axis.DP);
    }

    /**
     * Whether all ranks that hold the same slices of weights hold the same bits, and all ranks of a tensor-parallel
     * group hold the same bits of the weights that are not sharded.
     */
    public boolean agreeOn(ParameterStore parameters) {
        List<Tensor> unsharded = parameters.parameters().stream()
            .filter(parameter -> parameter.parts().stream().allMatch(part -> part.shard().parts() == 1))
            .map(Parameter::value).toList();
        boolean replicasAgree = agree(communicators.along(Axis.DP, Axis.CP), List.of(parameters.values()));
        return agree(communicators.along(Axis.TP), unsharded) && replicasAgree;
    }

    /** Whether all ranks have the same checksum of the bits of these tensors, F32. */
    private boolean agree(Communicator ranks, List<Tensor> weights) {
        CRC32C crc = new CRC32C();
        MemorySegment host = MemorySegment.ofArray(new byte[CHUNK]);
        for (Tensor weight : weights) {
            Tensor flat = weight.reshape(weight.elements());
            for (long first = 0; first < flat.elements(); first += CHUNK / Float.BYTES) {
                Tensor chunk = flat.slice(first, Math.min(CHUNK / Float.BYTES, flat.elements() - first));
                device.download(host.asSlice(0, chunk.bytes()), chunk);
                crc.update(host.asSlice(0, chunk.bytes()).asByteBuffer());
            }
        }
        double checksum = crc.getValue(); // 32 bits: exact in a double
        device.upload(numbers, MemorySegment.ofArray(new double[] {checksum, -checksum}));
        ranks.allReduce(numbers, Reduction.MAX).await();
        double[] largest = device.read(numbers).await();
        return largest[0] == -largest[1];
    }

    /** The maximum of {@code number} over the data-parallel ranks. Numbers up to 2^53 are exact. */
    public long largestOfReplicas(long number) {
        return largest(number, dataParallel);
    }

    /** The maximum of {@code number} over all ranks. Numbers up to 2^53 are exact. */
    public long largest(long number) {
        return largest(number, all);
    }

    /** Whether {@code value} is true on any rank. */
    public boolean anyTrue(boolean value) {
        return largest(value ? 1 : 0) > 0;
    }

    /** Returns when all ranks have called this method. */
    public void barrier() {
        anyTrue(false);
    }

    private long largest(long number, Communicator ranks) {
        Tensor one = numbers.slice(0, 1);
        device.upload(one, MemorySegment.ofArray(new double[] {number}));
        ranks.allReduce(one, Reduction.MAX).await();
        return (long) device.read(one).await()[0];
    }
}
