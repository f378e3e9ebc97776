package org.isobar.distributed.job;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.isobar.fault.UserException;

/** Rank 0 at the rendezvous: hears every rank, and tells all of them whether the job can start. */
final class RendezvousHost implements AuthenticatedListener.Host {
    private static final int MOST_DIFFERENCES = 8;
    private static final int MOST_VALUES = 4;
    private static final int LONGEST_VALUE = 200;

    private final RankAnnouncement own;
    private final SortedMap<Integer, RankAnnouncement> heard = new TreeMap<>();
    private final Map<Integer, Connection> connections = new HashMap<>();
    private final List<Connection> turnedDown = new ArrayList<>();
    private boolean settled;
    private String fault;

    RendezvousHost(RankAnnouncement own) {
        this.own = own;
        heard.put(0, own);
    }

    @Override
    public void welcome(Connection connection) throws IOException {
        RankAnnouncement hello = RankAnnouncement.read(connection.in());
        connection.unlimited();
        enter(hello, connection);
    }

    private synchronized void enter(RankAnnouncement hello, Connection connection) {
        if (settled) {
            fault = "the job of " + own.worldSize() + " ranks has begun without this process, which says that it is"
                + " rank " + hello.rank();
            tell(connection);
            connection.close();
            return;
        }
        String objection = objection(hello);
        if (objection == null) {
            heard.put(hello.rank(), hello);
            connections.put(hello.rank(), connection);
        } else {
            turnedDown.add(connection);
            fault = fault == null ? objection : fault;
        }
        notifyAll();
    }

    private String objection(RankAnnouncement hello) {
        if (hello.protocol() != own.protocol()) {
            return "rank " + hello.rank() + " runs another version of the program (protocol " + hello.protocol()
                + ", rank 0 has " + own.protocol() + "); start the same on all nodes";
        }
        if (hello.worldSize() != own.worldSize()) {
            return "rank " + hello.rank() + " was started with WORLD_SIZE=" + hello.worldSize() + ", rank 0 with "
                + own.worldSize() + "; it must be the number of processes, alike for all";
        }
        if (hello.rank() < 0 || hello.rank() >= own.worldSize()) {
            return "a process says that it is rank " + hello.rank() + " of " + own.worldSize();
        }
        return heard.containsKey(hello.rank()) ? "two processes say that they are rank " + hello.rank()
            + " (listening at " + heard.get(hello.rank()).address() + " and " + hello.address()
            + "); give each its own RANK" : null;
    }

    /**
     * Waits for all ranks, until {@code deadline}, and tells them the outcome.
     *
     * @param refused how many have called that do not know the job's secret
     * @return where each rank listens
     */
    synchronized List<InetSocketAddress> await(long deadline, Duration limit, IntSupplier refused) {
        while (fault == null && heard.size() < own.worldSize()) {
            long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (left <= 0) {
                fault = missing(limit, refused.getAsInt());
                break;
            }
            try {
                wait(left);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                fault = "rank 0 was interrupted while it waited for the others";
            }
        }
        if (fault == null) {
            fault = differences();
        }
        settled = true;
        connections.values().forEach(this::tell);
        turnedDown.forEach(this::tell);
        turnedDown.forEach(Connection::close);
        if (fault != null) {
            connections.values().forEach(Connection::close);
            throw new UserException(fault);
        }
        return addresses();
    }

    /** The connections of all other ranks, by rank; the caller takes them over. */
    Map<Integer, Connection> connections() {
        return connections;
    }

    private List<InetSocketAddress> addresses() {
        return heard.values().stream().map(RankAnnouncement::address).toList();
    }

    private String missing(Duration limit, int refused) {
        return "of " + own.worldSize() + " ranks these did not come within " + limit.toSeconds() + " s: "
            + ranks(IntStream.range(0, own.worldSize()).filter(rank -> !heard.containsKey(rank)).boxed()
            .collect(Collectors.toCollection(TreeSet::new))) + "; see whether they were started and what they say"
            + (refused == 0 ? "" : " (" + refused + " connections were refused: they did not prove the job's secret)");
    }

    /** One line for each fact on which the ranks differ, or null; short enough for one string of DataOutput. */
    private String differences() {
        SortedSet<String> keys = new TreeSet<>();
        heard.values().forEach(hello -> keys.addAll(hello.facts().keySet()));
        List<String> lines = new ArrayList<>();
        for (String key : keys) {
            SortedMap<String, SortedSet<Integer>> ranksOf = new TreeMap<>();
            heard.forEach((rank, hello) -> ranksOf.computeIfAbsent(hello.facts().getOrDefault(key, "(not set)"),
                value -> new TreeSet<>()).add(rank));
            if (ranksOf.size() > 1) {
                lines.add("\n  " + key + ": " + ranksOf.entrySet().stream().limit(MOST_VALUES)
                    .map(entry -> cut(entry.getKey()) + " at " + ranks(entry.getValue()))
                    .collect(Collectors.joining(", ")));
            }
        }
        if (lines.isEmpty()) {
            return null;
        }
        String more = lines.size() > MOST_DIFFERENCES ? "\n  and " + (lines.size() - MOST_DIFFERENCES) + " more" : "";
        return "the ranks were started differently; start them alike:"
            + lines.stream().limit(MOST_DIFFERENCES).collect(Collectors.joining()) + more;
    }

    private static String cut(String value) {
        return value.length() <= LONGEST_VALUE ? value : value.substring(0, LONGEST_VALUE) + "...";
    }

    /** At most 16 of them in words: "rank 3", "ranks 1, 2 and 14 more". */
    private static String ranks(SortedSet<Integer> ranks) {
        int most = 16;
        return (ranks.size() == 1 ? "rank " : "ranks ") + ranks.stream().limit(most).map(String::valueOf)
            .collect(Collectors.joining(", ")) + (ranks.size() > most ? " and " + (ranks.size() - most) + " more" : "");
    }

    private void tell(Connection connection) {
        try {
            connection.out().writeInt(fault == null ? heard.size() : 0);
            if (fault == null) {
                for (InetSocketAddress address : addresses()) {
                    RankAnnouncement.writeAddress(connection.out(), address);
                }
            } else {
                connection.out().writeUTF(fault);
            }
            connection.out().flush();
        } catch (IOException gone) { // its loss is noticed when the job begins
            return;
        }
    }
}
