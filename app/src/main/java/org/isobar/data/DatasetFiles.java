package org.isobar.data;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;

import org.isobar.fault.UserException;

/**
 * The year files of a data set. In a job, rank 0 opens all of them at once. The other ranks open the first one, and
 * each other file when they first read from it. Thread-safe.
 */
final class DatasetFiles implements AutoCloseable {
    private final List<Path> paths;
    private final List<String> channels;
    private final AtomicReferenceArray<Era5File> open;
    private List<Integer> times = List.of(); // of each year
    private Consumer<Era5File> check = file -> { };
    private boolean closed;

    /**
     * Opens the first file.
     *
     * @param channels names of the channels to open; empty for all
     */
    DatasetFiles(List<Path> paths, List<String> channels) {
        this.paths = paths;
        this.channels = channels;
        open = new AtomicReferenceArray<>(paths.size());
        get(0);
    }

    /** Opens all files. */
    void openAll() {
        List<Integer> all = new ArrayList<>();
        for (int year = 0; year < paths.size(); year++) {
            all.add(get(year).times());
        }
        times = all;
    }

    /**
     * Takes over the numbers of time steps that rank 0 has found.
     *
     * @param check is called with each file that is opened later
     * @throws UserException if rank 0 has other files
     */
    void expect(List<Integer> found, Consumer<Era5File> check) {
        if (found.size() != paths.size() || found.getFirst() != get(0).times()) {
            throw new UserException("Data directory " + paths.getFirst().getParent() + " holds other files than at"
                + " rank 0: " + paths.size() + " years, of which the first has " + get(0).times() + " time steps,"
                + " instead of " + found.size() + " and " + found.getFirst() + ". Give all ranks the same --data_dir.");
        }
        times = found;
        this.check = check;
    }

    /** The file of a year, from 0. */
    Era5File get(int year) {
        Era5File file = open.get(year);
        return file != null ? file : openOnce(year);
    }

    private synchronized Era5File openOnce(int year) {
        if (closed) {
            throw new IllegalStateException("the data set is closed");
        }
        Era5File file = open.get(year);
        if (file == null) {
            file = Era5File.open(paths.get(year), channels);
            try {
                check(file, year);
            } catch (RuntimeException unusable) {
                file.close();
                throw unusable;
            }
            open.set(year, file);
        }
        return file;
    }

    private void check(Era5File file, int year) {
        if (!times.isEmpty() && file.times() != times.get(year)) {
            throw new UserException("Data file " + file.path() + " holds " + file.times() + " time steps, and "
                + times.get(year) + " at rank 0. Give all ranks the same data.");
        }
        check.accept(file);
    }

    /** Number of files that are open. */
    int opened() {
        int count = 0;
        for (int year = 0; year < open.length(); year++) {
            count += open.get(year) == null ? 0 : 1;
        }
        return count;
    }

    /** Number of time steps of each year. */
    List<Integer> times() {
        return times;
    }

    /** The paths, in order. */
    List<Path> paths() {
        return paths;
    }

    @Override
    public synchronized void close() {
        closed = true;
        for (int year = 0; year < open.length(); year++) {
            Era5File file = open.get(year);
            if (file != null) {
                file.close();
            }
        }
    }
}
