package org.isobar.bench.suite;

import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;

import org.isobar.os.HostMachine;

/** Facts about this machine that affect times. */
final class MachineFacts {
    private static final List<String> FEATURES = List.of("avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16");
    private static final Path SYSTEM = Path.of("/etc/os-release");
    private static final String ONEDNN = "/META-INF/maven/org.bytedeco/dnnl/pom.properties";

    private MachineFacts() { }

    /** Returns all facts by name. */
    static Map<String, String> all(SuiteSize size) {
        Map<String, String> facts = new LinkedHashMap<>();
        facts.put("date", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
        facts.put("CPU", HostMachine.processor() + ", " + Runtime.getRuntime().availableProcessors() + " cores");
        facts.put("instruction set extensions", features());
        facts.put("memory", String.format(Locale.ROOT, "%.1f GB", HostMachine.totalMemory() / 1e9));
        facts.put("system", system() + ", " + System.getProperty("os.name") + " " + System.getProperty("os.version"));
        facts.put("Java", System.getProperty("java.vm.name") + " " + Runtime.version());
        facts.put("oneDNN", oneDnn());
        facts.put("load average of the minute before the start", String.format(Locale.ROOT,
            "%.1f", ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage()));
        if (size == SuiteSize.REHEARSED) {
            facts.put("rehearsal", "sizes of preset tiny, no times");
        }
        return facts;
    }

    private static String features() {
        Set<String> known = HostMachine.processorFeatures();
        return FEATURES.stream().map(feature -> (known.contains(feature) ? "" : "no ") + feature)
            .collect(Collectors.joining(", "));
    }

    private static String system() {
        try {
            return Files.readAllLines(SYSTEM).stream().filter(line -> line.startsWith("PRETTY_NAME=")).findFirst()
                .map(line -> line.substring(line.indexOf('=') + 1).replace("\"", "")).orElse("unknown");
        } catch (IOException unknown) {
            return "unknown";
        }
    }

    /** Version of oneDNN in the JavaCPP build. */
    private static String oneDnn() {
        Properties properties = new Properties();
        try (InputStream file = MachineFacts.class.getResourceAsStream(ONEDNN)) {
            if (file != null) {
                properties.load(file);
            }
        } catch (IOException unreadable) {
            return "unknown";
        }
        return properties.getProperty("version", "unknown");
    }
}
