package org.isobar.train.step;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.zip.CRC32C;

import org.isobar.device.Device;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Reduction;
import org.isobar.tensor.Tensor;

/**
 * What ranks find out by asking each other, all of them together.
 *
 * @param numbers (2), F64: by which they do
 */
record Consensus(Device device, Tensor numbers) {
    private static final int CHUNK = 1 << 20; // bytes

    /** Whether all have the same bits in these tensors, F32. */
    boolean agree(Communicator ranks, List<Tensor> weights) {
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
        double mine = crc.getValue(); // 32 bits: exact
        device.upload(numbers, MemorySegment.ofArray(new double[] {mine, -mine}));
        ranks.allReduce(numbers, Reduction.MAX).await();
        double[] largest = device.read(numbers).await();
        return largest[0] == -largest[1];
    }

    /** The largest of the numbers that they name, up to 2^53. */
    long largest(long number, Communicator ranks) {
        Tensor one = numbers.slice(0, 1);
        device.upload(one, MemorySegment.ofArray(new double[] {number}));
        ranks.allReduce(one, Reduction.MAX).await();
        return (long) device.read(one).await()[0];
    }
}
