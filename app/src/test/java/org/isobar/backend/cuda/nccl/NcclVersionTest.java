package org.isobar.backend.cuda.nccl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;

/** Which versions of NCCL are accepted. */
class NcclVersionTest {
    @Test
    void olderOnesAreRefusedInOneLine() {
        assertEquals(22602, Nccl.supported(22602));
        assertEquals("NCCL 2.25.1 will not do: Isobar needs 2.26.2 or newer, and older than 3",
            assertThrows(UserException.class, () -> Nccl.supported(22501)).getMessage());
        assertThrows(UserException.class, () -> Nccl.supported(30000));
    }
}
