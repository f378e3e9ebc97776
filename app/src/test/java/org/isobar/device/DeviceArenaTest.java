package org.isobar.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicInteger;

import org.isobar.tensor.DType;
import org.isobar.tensor.Storage;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** Memory that is taken in order and given back in reverse. */
class DeviceArenaTest {
    private final AtomicInteger freed = new AtomicInteger();
    private final DeviceArena arena = new DeviceArena("test", new Block(0, 2048), freed::incrementAndGet);

    private record Block(long address, long bytes) implements Storage { }

    @Test
    void tensorsAreAlignedAndApart() {
        Tensor first = arena.f32(3);
        Tensor second = arena.allocate(DType.F64, 2, 40);
        assertEquals(0, first.offset());
        assertEquals(256, second.offset());
        assertFalse(first.overlaps(second));
        assertEquals(256 + 768, arena.used());
    }

    @Test
    void refusesWhatItCannotHold() {
        arena.f32(256);
        String message = assertThrows(IllegalStateException.class, () -> arena.f32(257)).getMessage();
        assertEquals("arena 'test' cannot hold [257] F32 behind 1024 of 2048 bytes", message);
        assertEquals(1024, arena.f32(256).offset());
    }

    @Test
    void scopesGiveBackInReverse() {
        arena.f32(1);
        try (DeviceArena.Scope outer = arena.scope()) {
            assertEquals(256, outer.f32(1).offset());
            try (DeviceArena.Scope inner = arena.scope()) {
                assertEquals(512, inner.allocate(DType.F64, 1).offset());
                assertEquals(768, arena.f32(1).offset());
            }
            assertEquals(512, arena.used());
        }
        assertEquals(256, arena.used());
        assertEquals(1024, arena.highWatermark());
    }

    @Test
    void scopesMustCloseInOrder() {
        DeviceArena.Scope outer = arena.scope();
        outer.f32(1);
        DeviceArena.Scope inner = arena.scope();
        outer.close();
        assertThrows(AssertionError.class, inner::close);
    }

    @Test
    void resetKeepsTheWatermark() {
        arena.f32(100);
        arena.reset();
        assertEquals(0, arena.used());
        assertEquals(512, arena.highWatermark());
        assertEquals(0, arena.f32(1).offset());
    }

    @Test
    void sealedArenasStayAsTheyAre() {
        arena.f32(1);
        arena.seal();
        String message = assertThrows(IllegalStateException.class, () -> arena.f32(1)).getMessage();
        assertTrue(message.endsWith(": it is sealed"), message);
        assertEquals(256, arena.used());
    }

    @Test
    void closingFreesTheMemory() {
        arena.close();
        assertEquals(1, freed.get());
    }

    @Test
    void alignRoundsUp() {
        assertEquals(0, DeviceArena.align(0));
        assertEquals(256, DeviceArena.align(1));
        assertEquals(256, DeviceArena.align(256));
        assertEquals(512, DeviceArena.align(257));
    }
}
