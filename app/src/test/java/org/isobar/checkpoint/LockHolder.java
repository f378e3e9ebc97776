package org.isobar.checkpoint;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;

/** A process that locks a directory and says so; it never unlocks it. */
final class LockHolder {
    private LockHolder() { }

    /** Locks the directory that is the first argument, and waits for its input to end. */
    public static void main(String[] arguments) throws IOException {
        RunLock.take(Path.of(arguments[0]), "node 1, process 2");
        System.out.println("locked");
        System.in.transferTo(System.out);
    }

    /** Starts one; returns when it has the lock. */
    static Process start(Path directory) throws IOException {
        Process process = new ProcessBuilder(ProcessHandle.current().info().command().orElseThrow(),
            "-cp", System.getProperty("java.class.path"), LockHolder.class.getName(), directory.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        BufferedReader output = process.inputReader();
        if (!"locked".equals(output.readLine())) {
            throw new IOException("the other process has no lock");
        }
        return process;
    }
}
