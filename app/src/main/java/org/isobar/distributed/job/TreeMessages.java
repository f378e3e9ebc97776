package org.isobar.distributed.job;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.RankMessages;

/**
 * Messages along the {@link JobTree}, over connections of their own, so that a long message does not delay heartbeats.
 * A rank passes announcements on to its children, and the reports of all ranks below it, together with its own, as one
 * message to its parent. While some of them are late, it sends those that it has once a second, so that rank 0 knows
 * which are missing.
 */
public final class TreeMessages implements RankMessages {
    private static final String PURPOSE = "messages";
    private static final int MAX_BYTES = 1 << 28;
    private static final int FLUSH_MILLIS = 1000;
    private static final int MOST_FLUSHES = 3600; // longer than any wait for reports

    private final Job job;
    private final Map<Integer, CompletableFuture<Connection>> down = new TreeMap<>(); // by child
    private final Map<String, TreeReports> reports = new ConcurrentHashMap<>(); // by topic and use
    private final Map<String, CompletableFuture<byte[]>> announced = new ConcurrentHashMap<>(); // by topic and use
    private final Map<String, Integer> uses = new ConcurrentHashMap<>();
    private final Map<Integer, CompletableFuture<Connection>> sending = new HashMap<>(); // by peer: the last message
    private final CompletableFuture<Connection> up; // null on rank 0

    /** Connects to the parent and to the children, in the background. */
    private TreeMessages(Job job) {
        this.job = job;
        for (int child : JobTree.children(job.rank(), job.worldSize())) {
            down.put(child, job.incoming(child, PURPOSE));
        }
        up = job.rank() == 0 ? null : CompletableFuture.supplyAsync(this::connect, Thread::startVirtualThread);
    }

    /** The messages of a job. All ranks create them at its start, because they pass on those of others. */
    public static RankMessages of(Job job) {
        if (job.worldSize() == 1) {
            return ALONE;
        }
        TreeMessages messages = new TreeMessages(job);
        messages.listen();
        return messages;
    }

    private void listen() {
        down.values().forEach(child -> child.thenAcceptAsync(this::listenToChild, Thread::startVirtualThread));
        if (up != null) {
            up.thenAcceptAsync(this::listenToParent, Thread::startVirtualThread);
        }
    }

    private Connection connect() {
        try {
            return job.open(JobTree.parent(job.rank()), PURPOSE);
        } catch (IOException unreachable) { // a failure of that rank is detected elsewhere
            throw new UncheckedIOException(unreachable);
        }
    }

    @Override
    public int ranks() {
        return job.worldSize();
    }

    @Override
    public void report(String topic, byte[] message, Urgency urgency) {
        Map<Integer, byte[]> own = new TreeMap<>(Map.of(job.rank(), message));
        collect(use("report", topic), own, urgency);
    }

    private String use(String kind, String topic) {
        return topic + " " + uses.merge(kind + " " + topic, 1, Integer::sum);
    }

    private void collect(String topic, Map<Integer, byte[]> arrived, Urgency urgency) {
        TreeReports collected = reports.computeIfAbsent(topic, any -> new TreeReports(job.rank(), job.worldSize()));
        if (job.rank() == 0) {
            collected.add(arrived, urgency);
        } else {
            switch (collected.add(arrived, urgency)) {
                case COMPLETE -> {
                    reports.remove(topic);
                    passOn(topic, collected, urgency);
                }
                case URGENT -> passOn(topic, collected, urgency);
                case FIRST -> flushLater(topic, collected, MOST_FLUSHES);
                default -> { }
            }
        }
    }

    private void flushLater(String topic, TreeReports collected, int left) {
        CompletableFuture.delayedExecutor(FLUSH_MILLIS, TimeUnit.MILLISECONDS, Thread::startVirtualThread)
            .execute(() -> {
                if (left > 0 && reports.get(topic) == collected && job.watch().failure().isEmpty()) {
                    passOn(topic, collected, Urgency.NORMAL);
                    flushLater(topic, collected, left - 1);
                }
            });
    }

    private void passOn(String topic, TreeReports collected, Urgency urgency) {
        Map<Integer, byte[]> unsent = collected.take();
        if (unsent.isEmpty()) {
            return;
        }
        byte[] frame = Encoding.bytes(out -> {
            out.writeUTF(topic);
            out.writeByte(urgency.ordinal());
            out.writeInt(unsent.size());
            for (Map.Entry<Integer, byte[]> report : unsent.entrySet()) {
                out.writeInt(report.getKey());
                out.writeInt(report.getValue().length);
                out.write(report.getValue());
            }
        });
        send(JobTree.parent(job.rank()), up, frame);
    }

    @Override
    public SortedMap<Integer, byte[]> gather(String topic, Duration limit) throws InterruptedException {
        String key = use("gather", topic);
        TreeReports collected = reports.computeIfAbsent(key, any -> new TreeReports(job.rank(), job.worldSize()));
        try {
            await(collected.enough(), limit);
            return collected.all();
        } finally {
            reports.remove(key);
        }
    }

    @Override
    public void announce(String topic, byte[] message) {
        pass(use("announce", topic), message);
    }

    private void pass(String topic, byte[] message) {
        byte[] frame = Encoding.bytes(out -> {
            out.writeUTF(topic);
            out.writeInt(message.length);
            out.write(message);
        });
        down.forEach((child, connection) -> send(child, connection, frame));
    }

    @Override
    public Optional<byte[]> await(String topic, Duration limit) throws InterruptedException {
        String key = use("await", topic);
        try {
            return await(announcement(key), limit);
        } finally {
            announced.remove(key);
        }
    }

    private CompletableFuture<byte[]> announcement(String key) {
        return announced.computeIfAbsent(key, any -> new CompletableFuture<>());
    }

    private <T> Optional<T> await(CompletableFuture<T> future, Duration limit) throws InterruptedException {
        CompletableFuture<T> outcome = future.copy().completeOnTimeout(null, limit.toNanos(), TimeUnit.NANOSECONDS);
        try (FailureDetector.Registration _ = job.watch().onFailure(() -> outcome.complete(null))) {
            Optional<T> result = Optional.ofNullable(outcome.get());
            if (result.isEmpty()) {
                job.watch().failure().ifPresent(reason -> {
                    throw new CommunicationException("rank " + job.rank() + ": " + reason);
                });
            }
            return result;
        } catch (ExecutionException impossible) { // neither future completes so
            throw new AssertionError(impossible);
        }
    }

    /** Sends frames to one peer in their order, each when the connection is there and the one before has been sent. */
    private void send(int peer, CompletableFuture<Connection> connection, byte[] frame) {
        synchronized (sending) {
            sending.put(peer, sending.getOrDefault(peer, connection).thenApplyAsync(open -> {
                try {
                    open.out().write(frame);
                    open.out().flush();
                    return open;
                } catch (IOException lost) { // a failure of that rank is detected elsewhere
                    throw new UncheckedIOException(lost);
                }
            }, Thread::startVirtualThread));
        }
    }

    private void listenToChild(Connection connection) {
        try {
            DataInputStream in = new DataInputStream(new BufferedInputStream(connection.in()));
            while (true) {
                String topic = in.readUTF();
                Urgency urgency = Urgency.values()[in.readByte()];
                Map<Integer, byte[]> arrived = new TreeMap<>();
                for (int left = in.readInt(); left > 0; left--) {
                    arrived.put(in.readInt(), bytes(in));
                }
                collect(topic, arrived, urgency);
            }
        } catch (IOException ended) {
            connection.close();
        }
    }

    private void listenToParent(Connection connection) {
        try {
            DataInputStream in = new DataInputStream(new BufferedInputStream(connection.in()));
            while (true) {
                String topic = in.readUTF();
                byte[] message = bytes(in);
                pass(topic, message);
                announcement(topic).complete(message);
            }
        } catch (IOException ended) {
            connection.close();
        }
    }

    private static byte[] bytes(DataInputStream in) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > MAX_BYTES) {
            throw new IOException("a message of " + length + " bytes");
        }
        return in.readNBytes(length);
    }

    @Override
    public void close() {
        CompletableFuture<?>[] unsent;
        synchronized (sending) {
            unsent = sending.values().toArray(CompletableFuture[]::new);
        }
        CompletableFuture.allOf(unsent).completeOnTimeout(null, FLUSH_MILLIS, TimeUnit.MILLISECONDS)
            .exceptionally(lost -> null).join();
        if (up != null) {
            up.thenAccept(Connection::close);
        }
        down.values().forEach(child -> child.thenAccept(Connection::close));
    }
}
