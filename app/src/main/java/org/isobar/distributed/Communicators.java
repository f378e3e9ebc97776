package org.isobar.distributed;

import java.util.Collection;
import java.util.EnumSet;
import java.util.HashMap;
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
 * The communicators of one rank of a process grid. Each is opened when first requested; all are closed together. Groups
 * of the same ranks share a communicator: without context parallelism, "dp-cp" is "dp".
 */
public final class Communicators implements AutoCloseable {
    private final ProcessGrid grid;
    private final int rank;
    private final BiConsumer<Tensor, Tensor> copy;
    private final Function<ProcessGroup, Communicator> open;
    private final RankMessages messages;
    private final Supplier<Optional<String>> failure;
    private final Map<List<Integer>, Communicator> byRanks = new LinkedHashMap<>();
    private final Map<Set<Axis>, Communicator> byAxes = new HashMap<>(); // a group of a large job is long

    /**
     * The communicators of {@code rank}.
     *
     * @param copy {@code (y, x) -> y = x} on the device, for groups of one rank
     * @param open opens the communicator of a group of several ranks; all ranks of the group call it at the same time
     */
    public Communicators(ProcessGrid grid, int rank, BiConsumer<Tensor, Tensor> copy,
        Function<ProcessGroup, Communicator> open) {
        this(grid, rank, copy, open, RankMessages.ALONE, Optional::empty);
    }

    /**
     * The communicators of {@code rank} in a job that can fail.
     *
     * @param messages between rank 0 and all others
     * @param failure  the reason why the job has failed, if it has
     */
    public Communicators(ProcessGrid grid, int rank, BiConsumer<Tensor, Tensor> copy,
        Function<ProcessGroup, Communicator> open, RankMessages messages, Supplier<Optional<String>> failure) {
        this.grid = grid;
        this.rank = rank;
        this.copy = copy;
        this.open = open;
        this.messages = messages;
        this.failure = failure;
    }

    /** The communicators of a job of one rank. */
    public static Communicators alone(BiConsumer<Tensor, Tensor> copy) {
        return new Communicators(ProcessGrid.of(ProcessGrid.DEFAULT_ORDER, Map.of()), 0, copy, group -> {
            throw new IllegalStateException("no communicator for " + group + " in a job of one rank");
        });
    }

    /** New communicators of this rank in another grid of the same ranks. Close them before these. */
    public Communicators in(ProcessGrid other) {
        return new Communicators(other, rank, copy, open, messages, failure);
    }

    /** The process grid. */
    public ProcessGrid grid() {
        return grid;
    }

    /** The rank that has these communicators. */
    public int rank() {
        return rank;
    }

    /**
     * Checks that the job has not failed. Code that waits for something other than a collective calls this repeatedly.
     *
     * @throws CommunicationException if another rank is lost or has failed
     */
    public void requireSound() {
        failure.get().ifPresent(reason -> {
            throw new CommunicationException("rank " + rank + ": " + reason);
        });
    }

    /** Messages between rank 0 and all others; {@link RankMessages#ALONE} without a job. */
    public RankMessages messages() {
        return messages;
    }

    /** This rank's coordinate along {@code axis}. */
    public int coordinate(Axis axis) {
        return grid.coordinate(rank, axis);
    }

    /** The communicator of this rank's group along all {@code axes} together. */
    public Communicator along(Axis... axes) {
        return along(List.of(axes));
    }

    /** See {@link #along(Axis...)}. */
    public Communicator along(Collection<Axis> axes) {
        Set<Axis> larger = EnumSet.noneOf(Axis.class);
        axes.stream().filter(axis -> grid.size(axis) > 1).forEach(larger::add);
        return byAxes.computeIfAbsent(larger, this::open);
    }

    private Communicator open(Set<Axis> axes) {
        ProcessGroup group = grid.group(rank, axes);
        return byRanks.computeIfAbsent(group.ranks(),
            ranks -> ranks.size() == 1 ? new SelfCommunicator(group, copy) : open.apply(group));
    }

    /** Closes all communicators in reverse order of opening. */
    @Override
    public void close() {
        List.copyOf(byRanks.values()).reversed().forEach(Communicator::close);
        byRanks.clear();
        byAxes.clear();
    }
}
