package org.isobar.backend.cuda.nccl;

import static org.bytedeco.cuda.global.nccl.ncclCommAbort;
import static org.bytedeco.cuda.global.nccl.ncclCommInitRank;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
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
 * Creates the NCCL communicator of a process group: the ranks exchange {@link NcclPeerInfo}, each checks it, and then
 * NCCL connects them.
 */
final class NcclBootstrap {
    /** First version that lets several ranks share a GPU, if the environment allows it. */
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
     * Connects this rank with the other ranks of the group, which call this method too.
     *
     * @param detector    connections to the other ranks, not started yet
     * @param environment of this process, which NCCL reads too
     * @throws UserException          on all ranks, if versions differ or ranks share a GPU
     * @throws CommunicationException if a rank is lost; the job has failed then
     */
    static NcclComm join(Gpu gpu, Job job, ProcessGroup group, CollectiveMismatchDetector detector,
        Map<String, String> environment) {
        NcclBootstrap start = new NcclBootstrap(gpu, job, group);
        try {
            List<NcclPeerInfo> peers = start.peers(detector, environment);
            return new NcclComm(gpu, group, start.connect(peers.getFirst().id()));
        } catch (IOException | CudaException failed) {
            throw start.lost(failed);
        }
    }

    private List<NcclPeerInfo> peers(CollectiveMismatchDetector detector, Map<String, String> environment)
        throws IOException {
        job.watch().waiting(() -> where() + ", to see the others' GPUs"); // ends the exchange if a rank never connects
        List<NcclPeerInfo> peers = detector.exchange(NcclPeerInfo.of(gpu, group.index(), environment).bytes())
            .stream()
            .map(NcclPeerInfo::of)
            .toList();
        job.watch().resumed();
        Optional<String> obstacle = obstacle(group, peers, environment);
        if (obstacle.isPresent()) {
            synchronize(detector);
            throw new UserException(obstacle.get());
        }
        return peers;
    }

    /** Waits until all ranks have read the peers, so that all report the same obstacle. */
    private static void synchronize(CollectiveMismatchDetector detector) {
        try {
            detector.exchange(ByteBuffer.allocate(1));
        } catch (IOException gone) { // other ranks have finished already
            return;
        }
    }

    /** Why ranks with these properties cannot form a communicator; the same message on all ranks. */
    static Optional<String> obstacle(ProcessGroup group, List<NcclPeerInfo> peers, Map<String, String> environment) {
        for (int rank = 1; rank < peers.size(); rank++) {
            NcclPeerInfo peer = peers.get(rank);
            if (peer.version() != peers.getFirst().version()) {
                return Optional.of(String.format("ranks %d and %d of %s have different versions of NCCL, %s on %s and "
                    + "%s on %s: install the same everywhere", group.rankAt(0), group.rankAt(rank), group,
                    CudaComponent.dotted(peers.getFirst().version()), peers.getFirst().host(),
                    CudaComponent.dotted(peer.version()), peer.host()));
            }
        }
        if (peers.getFirst().version() >= SHARING && "1".equals(environment.get(SHARE))) {
            return Optional.empty();
        }
        Map<NcclPeerInfo.Place, Integer> firsts = new HashMap<>();
        for (int second = 0; second < peers.size(); second++) {
            Integer first = firsts.putIfAbsent(peers.get(second).place(), second);
            if (first != null) {
                return Optional.of(String.format("ranks %d and %d of %s share GPU-%s on %s: start one process for "
                    + "each GPU, or use --comm_backend=host", group.rankAt(first), group.rankAt(second), group,
                    peers.get(first).gpu(), peers.get(first).host()));
            }
        }
        return Optional.empty();
    }

    /** Connects on a new thread, because NCCL waits for peers without limit; this thread stops waiting on a failure. */
    private ncclComm connect(byte[] id) {
        CompletableFuture<ncclComm> connected = new CompletableFuture<>();
        FailureDetector watch = job.watch();
        try (FailureDetector.Registration _ = watch.onFailure(() -> watch.failure().ifPresent(verdict ->
            connected.completeExceptionally(new CommunicationException(where() + ": " + verdict))))) {
            Thread.ofPlatform().daemon().name("isobar-nccl-" + group.name() + "-" + group.rank())
                .start(() -> connect(id, connected));
            return connected.get(job.limits().start().toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException failed) {
            throw failed.getCause() instanceof CudaException refused ? refused
                : new CommunicationException(failed.getCause().getMessage(), failed.getCause());
        } catch (TimeoutException timeout) {
            throw lost(new CommunicationException("NCCL has not connected its ranks within "
                + job.limits().start().toSeconds() + " s", timeout));
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new CommunicationException(where() + ": interrupted while NCCL connects its ranks", interrupted);
        } finally {
            connected.cancel(false); // a communicator that is created later is aborted
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
            ncclCommAbort(comm); // the waiting thread has given up
        }
    }

    private String where() {
        return "rank " + group.rank() + ", " + group;
    }

    /** Fails the job. The result names the cause that another rank reports, if there is one, else {@code thrown}. */
    private CommunicationException lost(Exception thrown) {
        String reason = where() + ": " + thrown.getMessage();
        String verdict = job.watch().imminentFailure().map(known -> where() + ": " + known).orElse(reason);
        job.watch().fail(reason);
        return new CommunicationException(verdict, thrown);
    }
}
