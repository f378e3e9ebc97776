package org.isobar.distributed;

import java.util.Collection;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Supplier;

import org.isobar.tensor.Tensor;

/**
 * The communicators of one rank of a grid, opened when first asked for and closed together. Groups of the same ranks
 * share one: without context parallelism, "dp-cp" is "dp".
 */
public final class Communicators implements AutoCloseable {
    private final ProcessGrid grid;
    private final int rank;
    private final BiConsumer<Tensor, Tensor> copy;
    private final Function<ProcessGroup, Communicator> open;
    private final Supplier<Optional<String>> failure;
    private final Map<List<Integer>, Communicator> opened = new LinkedHashMap<>();

    /**
     * The communicators of {@code rank}.
     *
     * @param copy {@code (y, x) -> y = x} of the device's operations, for groups of one rank
     * @param open makes the communicator of a larger group; the other members call it at the same time
     */
    public Communicators(ProcessGrid grid, int rank, BiConsumer<Tensor, Tensor> copy,
        Function<ProcessGroup, Communicator> open) {
        this(grid, rank, copy, open, Optional::empty);
    }

    /**
     * The same in a job that can fail.
     *
     * @param failure why the job cannot go on, if it cannot
     */
    public Communicators(ProcessGrid grid, int rank, BiConsumer<Tensor, Tensor> copy,
        Function<ProcessGroup, Communicator> open, Supplier<Optional<String>> failure) {
        this.grid = grid;
        this.rank = rank;
        this.copy = copy;
        this.open = open;
        this.failure = failure;
    }

    /** The communicators of a job of one rank. */
    public static Communicators alone(BiConsumer<Tensor, Tensor> copy) {
        return new Communicators(ProcessGrid.of(ProcessGrid.DEFAULT_ORDER, Map.of()), 0, copy, group -> {
            throw new IllegalStateException(group + " in a job of one rank");
        });
    }

    /** The grid whose groups these are. */
    public ProcessGrid grid() {
        return grid;
    }

    /**
     * Returns if the job can go on. Who waits for something else than a collective asks from time to time.
     *
     * @throws CommunicationException if another rank is lost or has failed
     */
    public void requireSound() {
        failure.get().ifPresent(reason -> {
            throw new CommunicationException("rank " + rank + ": " + reason);
        });
    }

    /** This rank's place along {@code axis}. */
    public int coordinate(Axis axis) {
        return grid.coordinate(rank, axis);
    }

    /** The communicator of this rank's group along {@code axes} taken together. */
    public Communicator along(Axis... axes) {
        return along(List.of(axes));
    }

    /** See {@link #along(Axis...)}. */
    public Communicator along(Collection<Axis> axes) {
        Set<Axis> sizable = EnumSet.noneOf(Axis.class);
        axes.stream().filter(axis -> grid.size(axis) > 1).forEach(sizable::add);
        ProcessGroup group = grid.group(rank, sizable);
        return opened.computeIfAbsent(group.ranks(),
            ranks -> ranks.size() == 1 ? new SelfCommunicator(group, copy) : open.apply(group));
    }

    /** Closes all of them, the latest first. */
    @Override
    public void close() {
        List.copyOf(opened.values()).reversed().forEach(Communicator::close);
        opened.clear();
    }
}
