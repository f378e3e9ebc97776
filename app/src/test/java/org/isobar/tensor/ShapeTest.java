package org.isobar.tensor;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

/** Checks extents, numbers of elements and equality. */
class ShapeTest {
    @Test
    void countsElementsAndRows() {
        Shape shape = Shape.of(2, 3, 5);
        assertEquals(3, shape.rank());
        assertEquals(30, shape.elements());
        assertEquals(6, shape.rows());
        assertEquals(2, shape.extent(0));
        assertEquals(5, shape.extent(-1));
        assertEquals(3, shape.extent(-2));
    }

    @Test
    void scalarHasOneElement() {
        assertEquals(0, Shape.of().rank());
        assertEquals(1, Shape.of().elements());
    }

    @Test
    void countsMoreThan2To31Elements() {
        assertEquals(1L << 40, Shape.of(1L << 20, 1L << 20).elements());
        assertThrows(ArithmeticException.class, () -> Shape.of(1L << 32, 1L << 32).elements());
    }

    @Test
    void refusesEmptyExtents() {
        assertEquals("extent 0 in shape [2, 0]",
            assertThrows(IllegalArgumentException.class, () -> Shape.of(2, 0)).getMessage());
        assertThrows(IllegalArgumentException.class, () -> Shape.of(-1));
    }

    @Test
    void isImmutable() {
        long[] extents = {2, 3};
        Shape shape = Shape.of(extents);
        extents[0] = 7;
        shape.extents()[1] = 7;
        assertArrayEquals(new long[] {2, 3}, shape.extents());
    }

    @Test
    void hasValueEquality() {
        assertEquals(Shape.of(2, 3), Shape.of(2, 3));
        assertEquals(Shape.of(2, 3).hashCode(), Shape.of(2, 3).hashCode());
        assertNotEquals(Shape.of(2, 3), Shape.of(3, 2));
        assertNotEquals(Shape.of(6), Shape.of(6, 1));
        assertEquals("[2, 3]", Shape.of(2, 3).toString());
    }
}
