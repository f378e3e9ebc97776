package org.isobar.tensor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checks the bits of numbers in each type. */
class DTypeTest {
    @ParameterizedTest
    @CsvSource({
        "F64, -2, C000000000000000",
        "F32, 1, 3F800000", "F32, -2, C0000000", "F32, 0x1.000001p0, 3F800000", "F32, 0x1.000003p0, 3F800002",
        "F16, 1, 3C00", "F16, -2, C000", "F16, 0x1.002p0, 3C00", "F16, 0x1.006p0, 3C02", "F16, 1e6, 7C00",
        "BF16, 1, 3F80", "BF16, -2, C000", "BF16, 0x1.01p0, 3F80", "BF16, 0x1.03p0, 3F82", "BF16, 1e39, 7F80",
        "BF16, 0x1.FFp127, 7F80"})
    void roundsToNearest(DType dtype, String value, String bits) {
        assertEquals(Long.parseUnsignedLong(bits, 16), dtype.bits(Double.parseDouble(value)));
    }

    @ParameterizedTest
    @CsvSource({"F16, 7C00", "BF16, 7F80"})
    void nanStaysNan(DType dtype, String infinity) {
        long bits = dtype.bits(Double.NaN);
        assertTrue((bits & 0x7FFF) > Long.parseLong(infinity, 16), Long.toHexString(bits));
    }
}
