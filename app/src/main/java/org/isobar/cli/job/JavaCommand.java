package org.isobar.cli.job;

import java.lang.management.ManagementFactory;
import java.lang.management.RuntimeMXBean;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** How to start another process like this one: with the same Java, the same options for it and the same class path. */
public final class JavaCommand {
    private JavaCommand() { }

    /** The command line, to which the arguments of {@code main} are yet to be added. */
    public static List<String> command(Class<?> main) {
        RuntimeMXBean runtime = ManagementFactory.getRuntimeMXBean();
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(runtime.getInputArguments());
        command.addAll(List.of("-cp", runtime.getClassPath(), main.getName()));
        return command;
    }
}
