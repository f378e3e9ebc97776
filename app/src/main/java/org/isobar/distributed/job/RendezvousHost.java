package org.isobar.distributed.job;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.isobar.fault.UserException;

/** The side of rank 0 at the rendezvous: receives all announcements and tells all ranks whether the job can start. */
final class RendezvousHost implements AuthenticatedListener.Handler {
    private static final int MAX_DIFFERENCES = 8;
    private static final int MAX_VALUES = 4;
    private static final int MAX_VALUE_LENGTH = 200;

    /** First number of an outcome: the facts of rank 0 differ, and the rank must send its own. */
    static final int SEND_FACTS = -1;
    /** First number of an outcome: the job cannot start; the reason follows. */
    static final int FAILED = 0;
    /** First number of an outcome: the job starts; the address of the parent in the {@link JobTree} follows. */
    static final int PARENT = 1;
    /** First number of an outcome for the children of rank 0: the job starts; the {@link AddressTable} follows. */
    static final int TABLE = 2;
    private static final int TELLING_SECONDS = 5;

    private final RankAnnouncement own;
    private final JobFacts ownFacts;
    private final SortedMap<Integer, RankAnnouncement> announced = new TreeMap<>();
    private final Map<JobFacts, SortedSet<Integer>> facts = new HashMap<>(); // with the ranks that have them
    private final Map<Integer, Connection> connections = new HashMap<>();
    private final List<Connection> rejected = new ArrayList<>();
    private AddressTable table; // null until the job starts
    private boolean decided;
    private String failure;

    RendezvousHost(RankAnnouncement own, JobFacts facts) {
        this.own = own;
        ownFacts = facts;
        add(own, facts);
    }

    private void add(RankAnnouncement announcement, JobFacts itsFacts) {
        announced.put(announcement.rank(), announcement);
        facts.computeIfAbsent(itsFacts, any -> new TreeSet<>()).add(announcement.rank());
    }

    @Override
    public void accepted(Connection connection) throws IOException {
        RankAnnouncement announcement = RankAnnouncement.read(connection.in());
        JobFacts itsFacts = ownFacts;
        if (announcement.protocol() == own.protocol() && !Arrays.equals(announcement.digest(), ownFacts.digest())) {
            connection.out().writeInt(SEND_FACTS);
            connection.out().flush();
            itsFacts = JobFacts.read(connection.in());
        }
        connection.unlimited();
        add(announcement, itsFacts, connection);
    }

    private synchronized void add(RankAnnouncement announcement, JobFacts itsFacts, Connection connection) {
        if (decided) {
            failure = "the job of " + own.worldSize() + " ranks has started already; this process came too late as"
                + " rank " + announcement.rank();
            send(failed(), connection);
            connection.close();
            return;
        }
        String objection = objection(announcement);
        if (objection == null) {
            add(announcement, itsFacts);
            connections.put(announcement.rank(), connection);
        } else {
            rejected.add(connection);
            failure = failure == null ? objection : failure;
        }
        notifyAll();
    }

    private String objection(RankAnnouncement announcement) {
        if (announcement.protocol() != own.protocol()) {
            return "rank " + announcement.rank() + " runs a different version of the program (protocol "
                + announcement.protocol() + ", rank 0 has " + own.protocol() + "); start the same version on all nodes";
        }
        if (announcement.worldSize() != own.worldSize()) {
            return "rank " + announcement.rank() + " was started with WORLD_SIZE=" + announcement.worldSize()
                + ", rank 0 with "
                + own.worldSize() + "; set it to the number of processes, the same for all";
        }
        if (announcement.rank() < 0 || announcement.rank() >= own.worldSize()) {
            return "a process claims rank " + announcement.rank() + " of " + own.worldSize();
        }
        return announced.containsKey(announcement.rank()) ? "two processes claim rank " + announcement.rank()
            + " (listening at " + announced.get(announcement.rank()).address() + " and " + announcement.address()
            + "); give each process its own RANK" : null;
    }

    /**
     * Waits for all ranks until {@code deadline}, and sends them the outcome.
     *
     * @param limit   the time until the deadline, for the message
     * @param refused number of connections that did not prove the job's secret
     * @return the address at which each rank listens
     * @throws UserException if ranks are missing, are present twice or disagree
     */
    synchronized AddressTable await(long deadline, Duration limit, IntSupplier refused) {
        while (failure == null && announced.size() < own.worldSize()) {
            long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (left <= 0) {
                failure = missing(limit, refused.getAsInt());
                break;
            }
            try {
                wait(left);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                failure = "rank 0 was interrupted at the rendezvous";
            }
        }
        if (failure == null) {
            failure = differences();
        }
        decided = true;
        tell();
        rejected.forEach(Connection::close);
        if (failure != null) {
            connections.values().forEach(Connection::close);
            throw new UserException(failure);
        }
        return table;
    }

    /** The connections to all other ranks, by rank. The caller takes them over. */
    Map<Integer, Connection> connections() {
        return connections;
    }

    private List<InetSocketAddress> addresses() {
        return announced.values().stream().map(RankAnnouncement::address).toList();
    }

    private String missing(Duration limit, int refused) {
        return "of " + own.worldSize() + " ranks these did not connect within " + limit.toSeconds() + " s: "
            + ranks(IntStream.range(0, own.worldSize()).filter(rank -> !announced.containsKey(rank)).boxed()
            .collect(Collectors.toCollection(TreeSet::new))) + "; check that they were started, and their output"
            + (refused == 0 ? "" : " (" + refused + " connections were refused: they did not prove the job's secret)");
    }

    /** One line per fact on which the ranks differ, or null if there is none. Fits one string of DataOutput. */
    private String differences() {
        if (facts.size() == 1) {
            return null;
        }
        SortedSet<String> keys = new TreeSet<>();
        facts.keySet().forEach(each -> keys.addAll(each.values().keySet()));
        List<String> lines = new ArrayList<>();
        for (String key : keys) {
            SortedMap<String, SortedSet<Integer>> ranksOf = new TreeMap<>();
            facts.forEach((each, ranks) -> ranksOf.computeIfAbsent(each.values().getOrDefault(key, "(not set)"),
                any -> new TreeSet<>()).addAll(ranks));
            if (ranksOf.size() > 1) {
                lines.add("\n  " + key + ": " + ranksOf.entrySet().stream().limit(MAX_VALUES)
                    .map(entry -> truncated(entry.getKey()) + " at " + ranks(entry.getValue()))
                    .collect(Collectors.joining(", ")));
            }
        }
        String more = lines.size() > MAX_DIFFERENCES ? "\n  and " + (lines.size() - MAX_DIFFERENCES) + " more" : "";
        return "the ranks were started with different settings; start all with the same:"
            + lines.stream().limit(MAX_DIFFERENCES).collect(Collectors.joining()) + more;
    }

    private static String truncated(String value) {
        return value.length() <= MAX_VALUE_LENGTH ? value : value.substring(0, MAX_VALUE_LENGTH) + "...";
    }

    /** Lists at most 16 ranks: "rank 3", "ranks 1, 2 and 14 more". */
    private static String ranks(SortedSet<Integer> ranks) {
        int max = 16;
        return (ranks.size() == 1 ? "rank " : "ranks ") + ranks.stream().limit(max).map(String::valueOf)
            .collect(Collectors.joining(", ")) + (ranks.size() > max ? " and " + (ranks.size() - max) + " more" : "");
    }

    /**
     * Sends each rank its outcome, to all at the same time. Closes connections that do not accept it in time; the job's
     * failure detector then reports their ranks.
     */
    private void tell() {
        Map<Connection, byte[]> outcomes = new HashMap<>();
        if (failure == null) {
            List<InetSocketAddress> addresses = addresses();
            table = AddressTable.of(addresses);
            byte[] toChildren = outcome(TABLE, table::write);
            connections.forEach((rank, connection) -> outcomes.put(connection, JobTree.parent(rank) == 0
                ? toChildren
                : outcome(PARENT, out -> RankAnnouncement.writeAddress(out, addresses.get(JobTree.parent(rank))))));
        } else {
            byte[] reason = failed();
            rejected.forEach(connection -> outcomes.put(connection, reason));
            connections.values().forEach(connection -> outcomes.put(connection, reason));
        }
        List<CompletableFuture<Void>> telling = outcomes.entrySet().stream()
            .map(entry -> CompletableFuture.runAsync(() -> send(entry.getValue(), entry.getKey()),
                Thread::startVirtualThread)
                .orTimeout(TELLING_SECONDS, TimeUnit.SECONDS).exceptionally(late -> {
                    entry.getKey().close();
                    return null;
                })).toList();
        telling.forEach(CompletableFuture::join);
    }

    private byte[] failed() {
        return outcome(FAILED, out -> out.writeUTF(failure));
    }

    /** An outcome: its first number, and what follows. */
    private static byte[] outcome(int kind, Encoding content) {
        return Encoding.bytes(out -> {
            out.writeInt(kind);
            content.write(out);
        });
    }

    private static void send(byte[] outcome, Connection connection) {
        try {
            connection.out().write(outcome);
            connection.out().flush();
        } catch (IOException lost) { // detected when the job starts
            return;
        }
    }
}
