package org.isobar.cli.job;

import java.lang.management.ManagementFactory;
import java.lang.management.RuntimeMXBean;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The command that starts another process with the Java, the JVM options and the class path of this one. */
public final class JavaCommand {
    private JavaCommand() { }

    /** The command line without the arguments of {@code main}. */
    public static List<String> command(Class<?> main) {
        RuntimeMXBean runtime = ManagementFactory.getRuntimeMXBean();
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(runtime.getInputArguments());
        command.addAll(List.of("-cp", runtime.getClassPath(), main.getName()));
        return command;
    }
}
