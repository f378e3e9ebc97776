package org.isobar.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.device.DeviceArena;
import org.isobar.device.HostBuffer;
import org.isobar.device.OutOfDeviceMemoryException;
import org.isobar.device.Readback;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory, transfers and input of a GPU, and their order. */
@Tag("cuda")
class CudaDeviceTest {
    private static final Shape SHAPE = Shape.of(3, 5);

    private CudaDevice device;

    @BeforeEach
    void open() {
        device = CudaFixture.device();
    }

    @AfterEach
    void close() {
        device.close();
    }

    @Test
    void saysWhatItIs() {
        assertTrue(device.description().matches(".+, compute capability \\d+\\.\\d, driver \\d+\\.\\d"),
            device.description());
        assertTrue(device.supports(DType.F16) && device.supports(DType.BF16) && device.supports(DType.F32));
        assertEquals(0x1p-11, device.operandRoundoff(DType.F32));
        assertEquals(0, device.operandRoundoff(DType.BF16));
    }

    /** Fewer and more transfers than there are slots, with a partly filled last one. */
    @ParameterizedTest
    @ValueSource(ints = {700_001, 2_400_003})
    void whatIsUploadedComesBack(int elements) {
        float[] values = ascending(elements);
        try (DeviceArena arena = device.arena("values", DeviceArena.align(4L * values.length))) {
            Tensor tensor = arena.f32(values.length);
            device.upload(tensor, MemorySegment.ofArray(values));
            assertArrayEquals(values, CudaFixture.values(device, tensor));
        }
    }

    @Test
    void anUploadIsOrderedBehindOperations() {
        try (DeviceArena arena = device.arena("values", 4096)) {
            Tensor x = arena.f32(8);
            Tensor y = arena.f32(8);
            device.ops().memory().fill(x, 2);
            device.ops().memory().copy(y, x);
            device.upload(x, MemorySegment.ofArray(ascending(8)));
            assertArrayEquals(new float[] {2, 2, 2, 2, 2, 2, 2, 2}, CudaFixture.values(device, y));
            assertArrayEquals(ascending(8), CudaFixture.values(device, x));
        }
    }

    /** More numbers than a slot holds at first, and more readbacks than slots. */
    @ParameterizedTest
    @ValueSource(ints = {1, 513, 700})
    void numbersAreReadAsTheyWere(int count) {
        try (DeviceArena arena = device.arena("numbers", DeviceArena.align(8L * count))) {
            Tensor numbers = arena.allocate(DType.F64, count);
            Readback before = null;
            for (int round = 0; round < 6; round++) {
                device.upload(numbers, MemorySegment.ofArray(numbers(count, round)));
                Readback now = device.read(numbers);
                if (before != null) {
                    assertArrayEquals(numbers(count, round - 1), before.await());
                }
                before = now;
            }
            device.upload(numbers, MemorySegment.ofArray(numbers(count, -1)));
            assertArrayEquals(numbers(count, 5), before.await());
        }
    }

    @Test
    void atMostFourReadbacksAreInFlight() {
        try (DeviceArena arena = device.arena("numbers", 256)) {
            Tensor numbers = arena.allocate(DType.F64, 2);
            device.upload(numbers, MemorySegment.ofArray(numbers(2, 0)));
            List<Readback> lots = Stream.generate(() -> device.read(numbers)).limit(4).toList();
            assertThrows(IllegalStateException.class, () -> device.read(numbers));
            assertArrayEquals(numbers(2, 0), lots.get(2).await());
            assertArrayEquals(numbers(2, 0), device.read(numbers).await());
        }
    }

    private static double[] numbers(int count, int round) {
        return IntStream.range(0, count).mapToDouble(i -> round + 1.0 / (i + 1)).toArray();
    }

    @Test
    void batchesArriveInTurn() {
        try (HostBuffer first = device.hostBuffer(DType.F32, SHAPE); HostBuffer second = device.hostBuffer(DType.F32,
                SHAPE); DeviceArena arena = device.arena("sums", 1 << 16)) {
            Tensor[] seen = new Tensor[6];
            for (int step = 0; step < seen.length; step++) {
                HostBuffer buffer = step % 2 == 0 ? first : second;
                buffer.segment().fill((byte) step);
                seen[step] = arena.f32(3, 5);
                device.ops().memory().copy(seen[step], buffer.toDevice());
                buffer.release();
            }
            for (int step = 0; step < seen.length; step++) {
                byte[] bytes = new byte[60];
                device.download(MemorySegment.ofArray(bytes), seen[step]);
                byte[] expected = new byte[60];
                Arrays.fill(expected, (byte) step);
                assertArrayEquals(expected, bytes, "step " + step);
            }
        }
    }

    @Test
    void twoDeviceSlotsServeAnyNumberOfBuffers() {
        try (HostBuffer first = device.hostBuffer(DType.F32, SHAPE); HostBuffer second = device.hostBuffer(DType.F32,
                SHAPE); HostBuffer third = device.hostBuffer(DType.F32, SHAPE)) {
            long[] places = new long[4];
            HostBuffer[] buffers = {first, second, third, first};
            for (int i = 0; i < places.length; i++) {
                buffers[i].segment().fill((byte) i);
                places[i] = buffers[i].toDevice().address();
                buffers[i].release();
            }
            assertNotEquals(places[0], places[1], "the next batch arrives beside this one");
            assertEquals(places[0], places[2]);
            assertEquals(places[1], places[3]);
        }
        assertEquals(2 * 60, device.inputBytes(60, 5));
    }

    @Test
    void anyThreadMayFillABuffer() throws Exception {
        try (HostBuffer buffer = device.hostBuffer(DType.F32, Shape.of(4)); DeviceArena arena =
            device.arena("y", 256)) {
            Tensor y = arena.f32(4);
            for (int round = 0; round < 3; round++) {
                float value = round;
                CompletableFuture.runAsync(() -> fill(buffer.segment(), value)).get(60, TimeUnit.SECONDS);
                device.ops().memory().copy(y, buffer.toDevice());
                buffer.release();
                CompletableFuture.runAsync(() -> fill(buffer.segment(), -1)).get(60, TimeUnit.SECONDS);
                assertArrayEquals(new float[] {value, value, value, value}, CudaFixture.values(device, y));
            }
        }
    }

    @Test
    void tooMuchMemoryIsRefused() {
        OutOfDeviceMemoryException refused = assertThrows(OutOfDeviceMemoryException.class,
            () -> device.arena("activations", 1L << 42));
        assertTrue(refused.getMessage().matches("not enough memory on the GPU for activations: 4096.00 GB are needed, "
            + "\\d+\\.\\d\\d GB are free; .*"), refused.getMessage());
    }

    @Test
    void memoryIsGaugedAndGivenBack() {
        long before = device.memory().available();
        try (DeviceArena arena = device.arena("large", 64 << 20)) {
            assertEquals(256, arena.f32(64).bytes());
            assertTrue(device.memory().available() <= before - (64 << 20));
            assertTrue(device.memory().highWatermark() >= 64 << 20);
        }
        assertEquals(before, device.memory().available());
    }

    @Test
    void closingTwiceIsClosingOnce() {
        DeviceArena arena = device.arena("values", 256);
        HostBuffer buffer = device.hostBuffer(DType.F32, SHAPE);
        buffer.segment().fill((byte) 1);
        buffer.toDevice();
        buffer.close();
        buffer.close();
        arena.close();
        arena.close();
        device.close();
        assertDoesNotThrow(device::close);
    }

    private static void fill(MemorySegment segment, float value) {
        for (long i = 0; i < segment.byteSize() / Float.BYTES; i++) {
            segment.setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
        }
    }

    private static float[] ascending(int count) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = i;
        }
        return values;
    }
}
