package org.isobar.train.saving;

import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import org.isobar.checkpoint.CheckpointDirectory;
import org.isobar.checkpoint.RunLock;
import org.isobar.config.RunConfig;
import org.isobar.os.HostMachine;
import org.isobar.telemetry.RunLog;

/**
 * A run's directory in the hands of its rank 0, and of no other run until this is closed; on other ranks, nothing.
 *
 * @param lock       null on other ranks
 * @param resumption what the run goes on from
 */
public record RunDirectory(RunLock lock, Optional<Resumption> resumption) implements AutoCloseable {

    /**
     * Locks the directory, looks for the checkpoint that the run goes on from, and opens the log behind what that
     * checkpoint's run had written.
     *
     * @throws org.isobar.fault.UserException if another run has the directory, nothing can be written there, or there
     *                                        is no such checkpoint; the log is as it was then
     */
    public static RunDirectory of(RunConfig config, RunLog log) {
        if (config.ranks().rank() > 0) {
            return new RunDirectory(null, Optional.empty());
        }
        Path directory = config.output().experimentDirectory();
        RunLock lock = RunLock.take(directory, "process " + ProcessHandle.current().pid() + " on " + HostMachine.name()
            + ", since " + Instant.now());
        try {
            CheckpointDirectory.recover(Resumption.folder(directory));
            List<String> warnings = new ArrayList<>();
            Optional<Resumption> resumption = Resumption.find(config, warnings::add);
            log.openFile(directory.resolve("out.log"), resumption.flatMap(Resumption::own)
                .map(written -> written.log()).orElse(Long.MAX_VALUE));
            warnings.forEach(log::warn);
            return new RunDirectory(lock, resumption);
        } catch (RuntimeException failure) {
            lock.close();
            throw failure;
        }
    }

    @Override
    public void close() {
        if (lock != null) {
            lock.close();
        }
    }
}
