package org.isobar.backend.cuda.nccl;

import static org.bytedeco.cuda.global.nccl.ncclCommAbort;
import static org.bytedeco.cuda.global.nccl.ncclCommInitRank;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.bytedeco.cuda.nccl.ncclComm;
import org.bytedeco.cuda.nccl.ncclUniqueId;
import org.isobar.backend.cuda.driver.CudaComponent;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.driver.Gpu;
import org.isobar.backend.host.CollectiveMismatchDetector;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.job.FailureDetector;
import org.isobar.distributed.job.Job;
import org.isobar.fault.UserException;

/**
 * How the ranks of a group come to a communicator of NCCL: they show each other their cards; each sees whether all is
 * as it should be; then NCCL connects them.
 */
final class NcclBootstrap {
    /** The first that lets several ranks share a GPU, if its environment says so. */
    private static final int SHARING = 2_30_00;
    private static final String SHARE = "NCCL_MULTI_RANK_GPU_ENABLE";

    private final Gpu gpu;
    private final Job job;
    private final ProcessGroup group;

    private NcclBootstrap(Gpu gpu, Job job, ProcessGroup group) {
        this.gpu = gpu;
        this.job = job;
        this.group = group;
    }

    /**
     * Connects this rank with the others, which do the same.
     *
     * @param roll       its connections to them, not begun
     * @param environment which NCCL reads too
     * @throws UserException          if they cannot work together, at all of them
     * @throws CommunicationException if one of them is lost; the job has failed then
     */
    static NcclGroup join(Gpu gpu, Job job, ProcessGroup group, CollectiveMismatchDetector roll,
        Map<String, String> environment) {
        NcclBootstrap start = new NcclBootstrap(gpu, job, group);
        try {
            List<NcclPeerInfo> cards = start.cards(roll, environment);
            return new NcclGroup(gpu, group, start.connect(cards.getFirst().id()));
        } catch (IOException | CudaException failed) {
            throw start.lost(failed);
        }
    }

    private List<NcclPeerInfo> cards(CollectiveMismatchDetector roll, Map<String, String> environment)
        throws IOException {
        job.watch().waiting(where() + ", to see the others' GPUs"); // which ends that where one never comes
        List<NcclPeerInfo> cards = roll.exchange(NcclPeerInfo.of(gpu, group.index()).bytes()).stream()
            .map(NcclPeerInfo::of)
            .toList();
        job.watch().resumed();
        Optional<String> obstacle = obstacle(group, cards, environment);
        if (obstacle.isPresent()) {
            meet(roll);
            throw new UserException(obstacle.get());
        }
        return cards;
    }

    /** Whoever returns knows that all have read the cards, and so will say the same of them. */
    private static void meet(CollectiveMismatchDetector roll) {
        try {
            roll.exchange(ByteBuffer.allocate(1));
        } catch (IOException gone) { // others have met already, and left
            return;
        }
    }

    /** What keeps ranks with these cards from working together, in words that are the same at each of them. */
    static Optional<String> obstacle(ProcessGroup group, List<NcclPeerInfo> cards, Map<String, String> environment) {
        for (int rank = 1; rank < cards.size(); rank++) {
            NcclPeerInfo card = cards.get(rank);
            if (card.version() != cards.getFirst().version()) {
                return Optional.of(String.format("ranks %d and %d of %s have different versions of NCCL, %s on %s and "
                    + "%s on %s: install the same everywhere", group.rankAt(0), group.rankAt(rank), group,
                    CudaComponent.dotted(cards.getFirst().version()), cards.getFirst().host(),
                    CudaComponent.dotted(card.version()), card.host()));
            }
        }
        if (cards.getFirst().version() >= SHARING && "1".equals(environment.get(SHARE))) {
            return Optional.empty();
        }
        for (int second = 1; second < cards.size(); second++) {
            for (int first = 0; first < second; first++) {
                if (cards.get(first).gpu().equals(cards.get(second).gpu())) {
                    return Optional.of(String.format("ranks %d and %d of %s share GPU-%s on %s: start one process for "
                        + "each GPU, or use --comm_backend=host", group.rankAt(first), group.rankAt(second), group,
                        cards.get(first).gpu(), cards.get(first).host()));
                }
            }
        }
        return Optional.empty();
    }

    /** NCCL waits for peers as long as it takes; so a thread of its own does, and this one sees when that is vain. */
    private ncclComm connect(byte[] id) {
        CompletableFuture<ncclComm> connected = new CompletableFuture<>();
        FailureDetector watch = job.watch();
        watch.onFailure(() -> watch.failure().ifPresent(verdict ->
            connected.completeExceptionally(new CommunicationException(where() + ": " + verdict))));
        Thread.ofPlatform().daemon().name("isobar-nccl-" + group.name() + "-" + group.rank())
            .start(() -> connect(id, connected));
        try {
            return connected.get(job.limits().start().toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException failed) {
            throw failed.getCause() instanceof CudaException refused ? refused
                : new CommunicationException(failed.getCause().getMessage(), failed.getCause());
        } catch (TimeoutException late) {
            throw lost(new CommunicationException("NCCL has not connected its ranks within "
                + job.limits().start().toSeconds() + " s", late));
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new CommunicationException(where() + ": interrupted while NCCL connects its ranks", interrupted);
        } finally {
            connected.cancel(false); // what comes too late is aborted
        }
    }

    private void connect(byte[] id, CompletableFuture<ncclComm> connected) {
        ncclComm comm = new ncclComm();
        try (ncclUniqueId unique = new ncclUniqueId()) {
            gpu.makeCurrent();
            unique.internal().put(id);
            Nccl.check(ncclCommInitRank(comm, group.size(), unique, group.index()), "ncclCommInitRank");
        } catch (RuntimeException | LinkageError failed) {
            connected.completeExceptionally(failed);
            return;
        }
        if (!connected.complete(comm)) {
            ncclCommAbort(comm); // too late: nobody waits for it
        }
    }

    private String where() {
        return "rank " + group.rank() + ", " + group;
    }

    /** What was lost has a cause that another rank may know better; else the job fails with it. */
    private CommunicationException lost(Exception thrown) {
        String reason = where() + ": " + thrown.getMessage();
        String verdict = job.watch().imminentFailure().map(known -> where() + ": " + known).orElse(reason);
        job.watch().fail(reason);
        return new CommunicationException(verdict, thrown);
    }
}
