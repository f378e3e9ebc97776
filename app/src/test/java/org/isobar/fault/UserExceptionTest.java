package org.isobar.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** Tests what is kept of a message. */
class UserExceptionTest {
    @Test
    void onlyAnIndentedLineFollowsALineBreak() {
        assertEquals("settings differ:\n  lr: 1 at rank 0", new UserException("settings differ:\n  lr: 1 at rank 0")
            .getMessage());
        assertEquals("no file a\\u000a2026-11-22 - INFO - all is well",
            new UserException("no file a\n2026-11-22 - INFO - all is well").getMessage());
        assertEquals("no\n  file \\u001b[2J", new UserException("no\n  file \u001b[2J").getMessage());
    }
}
