package org.isobar.verify;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.CheckedTensorOps;
import org.isobar.device.Arena;
import org.isobar.device.Device;
import org.isobar.device.HostBuffer;
import org.isobar.device.MemoryGauge;
import org.isobar.device.TensorOps;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/** Another device with checks before its operations. */
record CheckedDevice(Device device) implements Device {
    @Override
    public String description() {
        return device.description() + ", checked";
    }

    @Override
    public TensorOps ops() {
        return new CheckedTensorOps(device.ops());
    }

    @Override
    public Arena arena(String name, long bytes) {
        return device.arena(name, bytes);
    }

    @Override
    public HostBuffer hostBuffer(DType dtype, Shape shape) {
        return device.hostBuffer(dtype, shape);
    }

    @Override
    public void reserve(long widestRow) {
        device.reserve(widestRow);
    }

    @Override
    public void upload(Tensor destination, MemorySegment source) {
        device.upload(destination, source);
    }

    @Override
    public void download(MemorySegment destination, Tensor source) {
        device.download(destination, source);
    }

    @Override
    public MemoryGauge memory() {
        return device.memory();
    }

    @Override
    public void close() {
        device.close();
    }
}
