package org.isobar.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;

import org.bytedeco.cuda.global.nvrtc;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Trial. */
@Tag("nvrtc")
class KernelCompilationTest {
    @Test
    void theCompilerIsTheRealOne() throws Exception {
        int[] major = {0};
        int[] minor = {0};
        nvrtc.nvrtcVersion(major, minor);
        try (var lines = Files.lines(Path.of("/proc/self/maps"))) {
            lines.filter(l -> l.contains("nvrtc") || l.contains("cuda")).map(l -> l.substring(l.lastIndexOf(' ') + 1))
                .distinct().forEach(System.out::println);
        }
        assertTrue(major[0] >= 13);
    }
}
