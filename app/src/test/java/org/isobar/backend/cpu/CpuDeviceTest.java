package org.isobar.backend.cpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

import org.isobar.device.DeviceArena;
import org.isobar.device.Footprint;
import org.isobar.device.HostBuffer;
import org.isobar.device.OutOfDeviceMemoryException;
import org.isobar.os.HostMachine;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** Memory of the CPU device: where it lies, what it costs, and that there is an end to it. */
final class CpuDeviceTest {
    private static final long MIB = 1 << 20;

    @Test
    void tensorsAreAlignedAndKeepWhatIsUploaded() {
        try (CpuDevice device = new CpuDevice(2); DeviceArena arena = device.arena("test", MIB)) {
            Tensor first = arena.f32(3);
            Tensor second = arena.f32(2, 2);
            assertEquals(0, first.address() % DeviceArena.ALIGNMENT);
            assertEquals(0, second.address() % DeviceArena.ALIGNMENT);
            device.upload(second, MemorySegment.ofArray(new float[] {1, 2, 3, 4}));
            float[] back = new float[2];
            device.download(MemorySegment.ofArray(back), second.slice(1, 1));
            assertArrayEquals(new float[] {3, 4}, back);
        }
    }

    @Test
    void hostBuffersAreTheirTensors() {
        try (CpuDevice device = new CpuDevice(1);
            HostBuffer buffer = device.hostBuffer(DType.F32, Shape.of(5))) {
            buffer.segment().setAtIndex(ValueLayout.JAVA_FLOAT, 4, 7);
            assertEquals(buffer.segment().address(), buffer.toDevice().address());
            assertEquals(7, CpuFixture.values(buffer.toDevice())[4]);
        }
    }

    @Test
    void thereIsAnEndToMemory() {
        try (CpuDevice device = new CpuDevice(1)) {
            OutOfDeviceMemoryException refusal = assertThrows(OutOfDeviceMemoryException.class,
                () -> device.arena("activations", 1L << 60));
            String message = refusal.getMessage();
            assertTrue(message.startsWith("not enough memory for activations: 1073741824.00 GB are needed"), message);
        }
    }

    @Test
    void aWorkspaceThatIsTooLargeIsRefusedAndTheOldOneKept() {
        Footprint huge = new Footprint(1, 1L << 58, 1, 1, Set.of(), Set.of(), Set.of(), Set.of());
        try (CpuFixture fixture = new CpuFixture(1); CpuDevice device = new CpuDevice(1)) {
            String message =
                assertThrows(OutOfDeviceMemoryException.class, () -> device.reserve(huge)).getMessage();
            assertTrue(message.startsWith("not enough memory for the workspace: "), message);
            Tensor sums = fixture.of(new float[2], 2);
            device.ops().products().biasBackward(sums, fixture.of(new float[] {1, 2, 3, 4, 5, 6}, 3, 2));
            assertArrayEquals(new float[] {9, 12}, CpuFixture.values(sums));
        }
    }

    /** Memory is taken until the process has more than ever before: at once, or after what others have freed. */
    @Test
    void theGaugeSeesMemoryThatIsUsed() {
        List<DeviceArena> taken = new ArrayList<>();
        try (CpuDevice device = new CpuDevice(1)) {
            long before = device.memory().highWatermark();
            while (device.memory().highWatermark() < before + 32 * MIB && taken.size() < 32) {
                taken.add(device.arena("test", 64 * MIB));
            }
            assertTrue(device.memory().highWatermark() >= before + 32 * MIB, taken.size() + " times 64 MiB");
            assertTrue(HostMachine.availableMemory() > 0);
        } finally {
            taken.forEach(DeviceArena::close);
        }
    }

    @Test
    void theLogNamesProcessorAndThreads() {
        try (CpuDevice device = new CpuDevice(2)) {
            assertTrue(device.description().endsWith(", 2 threads") && device.description().length() > 12,
                device.description());
        }
    }
}
