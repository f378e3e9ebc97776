package org.isobar.tensor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Checks views of memory. */
class TensorTest {
    private final Storage storage = new Block(4096, 1024);
    private final Tensor tensor = new Tensor(storage, 256, DType.F32, Shape.of(4, 6));

    private record Block(long address, long bytes) implements Storage { }

    @Test
    void addressIncludesTheOffset() {
        assertEquals(4096 + 256, tensor.address());
        assertEquals(24, tensor.elements());
        assertEquals(96, tensor.bytes());
        assertEquals(192, new Tensor(storage, 0, DType.F64, Shape.of(24)).bytes());
    }

    @Test
    void mustLieInsideItsStorage() {
        new Tensor(storage, 1020, DType.F32, Shape.of(1));
        assertThrows(IllegalArgumentException.class, () -> new Tensor(storage, 1024, DType.F32, Shape.of(1)));
        assertThrows(IllegalArgumentException.class, () -> new Tensor(storage, -4, DType.F32, Shape.of(1)));
        assertThrows(IllegalArgumentException.class, () -> new Tensor(storage, 0, DType.F64, Shape.of(129)));
    }

    @Test
    void reshapeKeepsTheElements() {
        Tensor reshaped = tensor.reshape(2, 2, 6);
        assertEquals(Shape.of(2, 2, 6), reshaped.shape());
        assertTrue(reshaped.aliases(tensor));
        assertThrows(IllegalArgumentException.class, () -> tensor.reshape(5, 5));
    }

    @Test
    void sliceTakesEntriesOfTheOutermostDimension() {
        Tensor slice = tensor.slice(1, 2);
        assertEquals(Shape.of(2, 6), slice.shape());
        assertEquals(tensor.address() + 24, slice.address());
        assertThrows(IllegalArgumentException.class, () -> tensor.slice(3, 2));
        assertThrows(IllegalArgumentException.class, () -> tensor.slice(0, 0));
        assertThrows(IllegalArgumentException.class, () -> tensor.slice(-1, 1));
    }

    @Test
    void neighboursDoNotOverlap() {
        assertFalse(tensor.slice(0, 2).overlaps(tensor.slice(2, 2)));
        assertTrue(tensor.slice(0, 3).overlaps(tensor.slice(2, 2)));
        assertTrue(tensor.overlaps(tensor.slice(1, 1)));
        assertTrue(tensor.slice(1, 1).overlaps(tensor));
        assertFalse(tensor.aliases(tensor.slice(0, 2)));
    }

    @Test
    void tensorsOfTwoStoragesDoNotOverlap() {
        Tensor elsewhere = new Tensor(new Block(4096, 1024), 256, DType.F32, Shape.of(4, 6));
        assertFalse(tensor.overlaps(elsewhere));
        assertFalse(tensor.aliases(elsewhere));
    }
}
