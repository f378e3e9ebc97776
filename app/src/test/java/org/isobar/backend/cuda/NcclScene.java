package org.isobar.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import org.isobar.backend.cuda.NcclRank.Stage;
import org.isobar.backend.host.RollCall;
import org.isobar.device.Recording;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Operations;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Reduction;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** What the ranks of a test do. */
enum NcclScene {
    /** Everything that a communicator can do, in all types. */
    COLLECTIVES {
        @Override
        void play(Stage stage) throws Exception {
            stage.all(NcclCollectives::check);
        }
    },
    /** Two communicators of each rank at work beside its computing, over and over. */
    GRID {
        @Override
        void play(Stage stage) {
            try (Communicator near = stage.pair("tp", 0); Communicator far = stage.pair("dp", 1)) {
                Tensor x = stage.arena().allocate(DType.F32, 1000);
                Tensor y = stage.arena().allocate(DType.F32, 1000);
                stage.device().ops().fill(x, stage.job().rank());
                for (int round = 0; round < 20; round++) {
                    stage.device().ops().copy(y, x);
                    var first = near.allReduce(y, Reduction.AVERAGE);
                    var second = far.allReduce(x, Reduction.AVERAGE);
                    second.await();
                    first.await();
                }
                float mean = CudaFixture.values(stage.device(), x)[999];
                assertArrayEquals(new float[] {stage.job().rank() % 2 + 1}, new float[] {mean});
            }
        }
    },
    /** Operations that are recorded and played back. */
    GRAPH {
        @Override
        void play(Stage stage) throws Exception {
            stage.all(NcclCollectives::replay);
        }
    },
    /** Reduces until somebody puts an end to it. */
    FOREVER {
        @Override
        void play(Stage stage) throws Exception {
            stage.all(rank -> {
                Tensor tensor = rank.tensor(DType.F32, 10_003, i -> 1);
                while (true) {
                    rank.communicator().allReduce(tensor, Reduction.AVERAGE).await();
                    rank.values(tensor);
                    stage.underWay();
                }
            });
        }
    },
    /** Replays until somebody puts an end to it. */
    REPLAY_FOREVER {
        @Override
        void play(Stage stage) throws Exception {
            stage.all(rank -> {
                Tensor tensor = rank.tensor(DType.F32, 10_003, i -> 1);
                try (Recording step = stage.device().record(() ->
                    rank.communicator().allReduce(tensor, Reduction.AVERAGE).await())) {
                    while (true) {
                        step.replay();
                        rank.values(tensor);
                        stage.underWay();
                    }
                }
            });
        }
    },
    /** The same, and what was recorded is kept for longer than the communicator. */
    KEPT_RECORDING {
        @Override
        void play(Stage stage) throws Exception {
            stage.all(rank -> {
                stage.underWay();
                Tensor tensor = rank.tensor(DType.F32, 10, i -> 1);
                Recording step = stage.device().record(() ->
                    rank.communicator().allReduce(tensor, Reduction.AVERAGE).await());
                step.replay();
                rank.values(tensor);
            });
        }
    },
    /** Rank 1 has something else in mind than the others. */
    MISMATCH {
        @Override
        void play(Stage stage) throws Exception {
            stage.all(rank -> {
                Tensor tensor = rank.tensor(DType.F32, 10, i -> i);
                rank.communicator().barrier().await();
                if (rank.index() == 1) {
                    rank.communicator().broadcast(tensor, 0).await();
                } else {
                    rank.communicator().allReduce(tensor, Reduction.SUM).await();
                }
                rank.values(tensor);
            });
        }
    },
    /** Rank 1 leaves before the others are done. */
    FEWER {
        @Override
        void play(Stage stage) throws Exception {
            stage.all(rank -> {
                Tensor tensor = rank.tensor(DType.F32, 10, i -> i);
                for (int i = 0; i < (rank.index() == 1 ? 1 : 2); i++) {
                    rank.communicator().allReduce(tensor, Reduction.SUM).await();
                }
                rank.values(tensor);
            });
        }
    },
    /** Two ranks wait for each other in different groups. */
    CROSSED {
        @Override
        void play(Stage stage) {
            try (Communicator one = stage.pair("tp", 0); Communicator other = stage.pair("dp", 0)) {
                Tensor tensor = stage.arena().allocate(DType.F32, 10);
                stage.device().ops().fill(tensor, 1);
                (stage.job().rank() == 0 ? one : other).allReduce(tensor, Reduction.SUM).await();
                CudaFixture.values(stage.device(), tensor);
            }
        }
    },
    /** Rank 1 computes for a long time: that is no failure. */
    SLOW {
        @Override
        void play(Stage stage) throws Exception {
            stage.all(rank -> {
                stage.underWay();
                Tensor tensor = rank.tensor(DType.F64, 10, i -> 1);
                if (rank.index() == 1) {
                    Thread.sleep(10_000);
                }
                rank.communicator().allReduce(tensor, Reduction.SUM).await();
                assertArrayEquals(new double[] {2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, rank.values(tensor));
            });
        }
    },
    /** Rank 1 shows its card and is gone. */
    LOST_AT_START {
        @Override
        void play(Stage stage) throws Exception {
            if (stage.job().rank() == 1) {
                CudaLibraries.loadNccl();
                ProcessGroup group = stage.everybody("dp");
                new RollCall(stage.job(), group).exchange(NcclCard.of(new Gpu(1), 1).bytes());
                Thread.sleep(500);
                Runtime.getRuntime().halt(9);
            }
            stage.all(rank -> { });
        }
    },
    /** The communicator's stream is not told to wait for what is computed. */
    NO_EVENT {
        @Override
        void play(Stage stage) throws Exception {
            CudaLibraries.loadNccl();
            ProcessGroup group = stage.everybody("dp");
            RollCall roll = new RollCall(stage.job(), group);
            NcclGroup nccl = NcclStart.join(new Gpu(stage.job().rank()), stage.job(), group, roll, System.getenv());
            Tensor tensor = stage.arena().allocate(DType.F32, 1000);
            stage.device().ops().fill(tensor, 1);
            CudaFixture.values(stage.device(), tensor); // ends that; what follows is ordered with it
            stage.device().ops().fill(tensor, 2);
            nccl.issue(new Operations(group).allReduce(tensor, Reduction.SUM), tensor.address(), tensor.address());
            nccl.stream().synchronize();
            CudaFixture.values(stage.device(), tensor);
        }
    };

    abstract void play(Stage stage) throws Exception;
}
