package org.isobar.distributed.job;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Connects a rank with its parent and its children in the {@link JobTree}, except with rank 0, to which each rank is
 * connected already. The table of addresses goes down these connections, and heartbeats go in both directions. Each
 * rank connects to its parent as soon as it knows that the job starts; until the connection is made, it exchanges
 * heartbeats with rank 0.
 */
final class TreeLinks {
    private static final String PURPOSE = "tree";

    private final RankEnvironment environment;
    private final Dialer dialer;
    private final IncomingConnections incoming;
    private final FailureDetector watch;
    private final CompletableFuture<AddressBook> addresses;
    private final List<CompletableFuture<Void>> children = new ArrayList<>();
    private volatile boolean closed;

    /**
     * Waits for connections of the children of this rank.
     *
     * @param addresses completed here if this rank has a parent other than rank 0, elsewhere otherwise
     */
    TreeLinks(RankEnvironment environment, Dialer dialer, IncomingConnections incoming, FailureDetector watch,
        CompletableFuture<AddressBook> addresses) {
        this.environment = environment;
        this.dialer = dialer;
        this.incoming = incoming;
        this.watch = watch;
        this.addresses = addresses;
        if (environment.rank() > 0) {
            for (int child : JobTree.children(environment.rank(), environment.worldSize())) {
                children.add(incoming.of(new IncomingConnections.Key(child, PURPOSE, 1))
                    .thenAcceptBothAsync(addresses, (connection, book) -> serve(child, connection, book),
                        Thread::startVirtualThread));
            }
        }
    }

    /** Connects to the parent, which is not rank 0, on a thread of its own. */
    void connect(InetSocketAddress parent, InetAddress master) {
        Thread.startVirtualThread(() -> reach(parent, master));
    }

    private void reach(InetSocketAddress address, InetAddress master) {
        int parent = JobTree.parent(environment.rank());
        try {
            Connection connection = dialer.open(address, () -> closed || watch.failure().isPresent());
            new IncomingConnections.Key(environment.rank(), PURPOSE, 1).write(connection);
            connection.limit(dialer.limits().firstHeartbeat());
            AddressBook book = new AddressBook(AddressTable.read(connection.in(), dialer.transport()::kept), master);
            connection.unlimited();
            watch.follow(parent, connection);
            addresses.complete(book);
        } catch (IOException lost) {
            if (!closed && watch.imminentFailure().isEmpty()) {
                watch.fail("rank " + environment.rank() + " does not receive the addresses of all ranks from rank "
                    + parent + " (" + lost.getMessage() + ")");
            }
        }
    }

    private void serve(int child, Connection connection, AddressBook book) {
        try {
            book.announced().write(connection.out());
            connection.out().flush();
            watch.lead(child, connection);
        } catch (IOException lost) { // rank 0 reports it, to which the child is connected, too
            connection.close();
        }
    }

    /**
     * Waits until this rank and its children have received the addresses, within the limit for failures, and not after
     * a failure of the job.
     */
    void close() {
        CompletableFuture<Void> failed = new CompletableFuture<>();
        watch.onFailure(() -> failed.complete(null));
        children.add(addresses.thenAccept(known -> { }));
        CompletableFuture<Void> served = CompletableFuture.allOf(children.toArray(CompletableFuture[]::new));
        CompletableFuture.anyOf(served, failed).completeOnTimeout(null, dialer.limits().failure().toNanos(),
            TimeUnit.NANOSECONDS).exceptionally(lost -> null).join();
        closed = true;
    }
}
