package org.isobar.verify;

import java.lang.foreign.MemorySegment;

import org.isobar.device.Arena;
import org.isobar.device.CheckedTensorOps;
import org.isobar.device.Device;
import org.isobar.device.Footprint;
import org.isobar.device.HostBuffer;
import org.isobar.device.InPlaceBuffer;
import org.isobar.device.MemoryGauge;
import org.isobar.device.TensorOps;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/** Host memory with operations of one's choice, in every type: to try the contract itself. */
final class ReferenceDevice implements Device {
    private final TensorOps ops;
    private final double operandRoundoff;

    /** A device that takes operands as they are. */
    ReferenceDevice(TensorOps ops) {
        this(ops, 0);
    }

    /** A device that says that it rounds single-precision operands so. */
    ReferenceDevice(TensorOps ops, double operandRoundoff) {
        this.ops = new CheckedTensorOps(ops);
        this.operandRoundoff = operandRoundoff;
    }

    /** The numbers of a tensor. */
    static double[] load(Tensor tensor) {
        MemorySegment memory = HostStorage.of(tensor);
        double[] numbers = new double[Math.toIntExact(tensor.elements())];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = Numbers.take(memory, tensor.dtype(), i);
        }
        return numbers;
    }

    /** Rounds numbers to the type of the tensor, once. */
    static void write(Tensor tensor, double[] numbers) {
        MemorySegment memory = HostStorage.of(tensor);
        for (int i = 0; i < numbers.length; i++) {
            Numbers.put(memory, tensor.dtype(), i, numbers[i]);
        }
    }

    @Override
    public String description() {
        return "reference";
    }

    @Override
    public TensorOps ops() {
        return ops;
    }

    @Override
    public boolean supports(DType dtype) {
        return dtype != DType.F64;
    }

    @Override
    public double operandRoundoff(DType dtype) {
        return dtype == DType.F32 ? operandRoundoff : 0;
    }

    @Override
    public Arena arena(String name, long bytes) {
        java.lang.foreign.Arena memory = java.lang.foreign.Arena.ofConfined();
        MemorySegment block = memory.allocate(bytes, Arena.ALIGNMENT);
        return new Arena(name, new HostStorage(block), memory::close);
    }

    @Override
    public HostBuffer hostBuffer(DType dtype, Shape shape) {
        Arena room = arena("host buffer", Arena.align(shape.elements() * dtype.bytes()));
        Tensor tensor = room.allocate(dtype, shape.extents());
        return new InPlaceBuffer(HostStorage.of(tensor), tensor, room::close);
    }

    @Override
    public void reserve(Footprint footprint) { }

    @Override
    public void upload(Tensor destination, MemorySegment source) {
        HostStorage.of(destination).copyFrom(source);
    }

    @Override
    public void download(MemorySegment destination, Tensor source) {
        destination.copyFrom(HostStorage.of(source));
    }

    @Override
    public MemoryGauge memory() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() { }
}
