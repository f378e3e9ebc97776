package org.isobar.train.saving;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import org.isobar.checkpoint.CheckpointDirectory;
import org.isobar.checkpoint.RunLock;
import org.isobar.config.RunConfig;
import org.isobar.os.AtomicFile;
import org.isobar.os.HostMachine;
import org.isobar.telemetry.RunLog;

/**
 * The directory of a run, locked by its rank 0 against other runs until this is closed. Other ranks hold no lock.
 *
 * @param lock       null on other ranks
 * @param resumption the checkpoint that the run resumes from; empty on other ranks
 */
public record RunDirectory(RunLock lock, Optional<Resumption> resumption) implements AutoCloseable {
    /**
     * Locks the directory, finds the checkpoint to resume from, and opens the log. If that checkpoint is of this run,
     * the log is cut to its length at the time of the checkpoint, and continued. In a job of several ranks,
     * {@link ResumeCheck} reads the checkpoint's files and cuts the log, when the ranks have met.
     *
     * @throws org.isobar.fault.UserException if another run has locked the directory, it cannot be written, or there is
     *                                        no such checkpoint; the log file is unchanged
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
            boolean alone = config.ranks().worldSize() == 1;
            Optional<Resumption> resumption = Resumption.find(config,
                alone ? SavedState.RESUMABLE : SavedState.CONSISTENT, warnings::add);
            log.openFile(directory.resolve("out.log"), resumption.filter(_ -> alone).flatMap(Resumption::own)
                .map(written -> written.log()).orElse(Long.MAX_VALUE));
            warnings.forEach(log::warn);
            return new RunDirectory(lock, resumption);
        } catch (RuntimeException failure) {
            lock.close();
            throw failure;
        }
    }

    /**
     * Writes the resolved configuration, as a file of presets. A run that resumes does so only once it has read its
     * checkpoint, so that one that cannot leaves the file of the run before.
     *
     * @throws org.isobar.fault.UserException if it cannot be written
     */
    public static void writeConfiguration(RunConfig config) {
        new AtomicFile("the configuration", config.output().experimentDirectory().resolve("config.yaml"), "--expdir")
            .write(config.yaml().getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void close() {
        if (lock != null) {
            lock.close();
        }
    }
}
