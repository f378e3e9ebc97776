package org.isobar.train.step;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.isobar.backend.dryrun.DryRunCommunicator;
import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.ops.IndexSpan;
import org.isobar.device.ops.TensorOps;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Work;
import org.isobar.tensor.Tensor;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.Test;

/** Tests which operations overlap with the collectives of a block, as described in docs/parallelism.md. */
class CollectiveOverlapTest {
    private static final VitConfig ONE_BLOCK = new VitConfig(32, 64, 8, 2, 2, 64, 1, 4, 256, 0);

    private final List<Meanwhile> collectives = new ArrayList<>();

    /** A collective over tp or cp, and the operations that are issued before it is awaited. */
    private record Meanwhile(String collective, List<String> operations, boolean[] awaited) {
        @Override
        public String toString() {
            return collective + ": " + String.join(", ", operations);
        }
    }

    @Test
    void collectivesOfABlockOverlapWithItsProducts() {
        trainOneStep();
        String weight = "linearBackwardParameters";
        assertEquals(List.of(
            "cp allGather: linear", // keys and values; the queries
            "tp allReduce: ", // proj
            "tp allReduce: ", // fc2
            "cp allGather: ", // final norm
            "cp allGather: patchify", // second time in backward; the gradient of the image
            "tp allReduce: " + weight + ", linearBackwardWeight", // input of fc1; weights of fc2 and fc1
            "cp reduceScatter: " + weight + ", linearBackwardInput", // keys and values; proj, the queries
            "tp allReduce: " + weight + ", " + weight, // input of q, k and v; their weights
            "cp allGather: "), // embedding
            collectives.stream().map(Meanwhile::toString).toList());
    }

    private void trainOneStep() {
        long room = Long.MAX_VALUE / 8;
        ProcessGrid grid = ProcessGrid.of("tp-cp-dp", Map.of(Axis.TP, 2, Axis.CP, 2));
        try (DryRunDevice dry = new DryRunDevice(); DeviceArena images = dry.arena("images", room);
            StepMemory memory = new StepMemory(dry.arena("state", room), dry.arena("kept", room),
                dry.arena("scratch", room));
            Communicators communicators = new Communicators(grid, 0, dry.ops().memory()::copy, this::communicator)) {
            TensorOps ops = dry.ops().wrapped(this::recorded);
            Device device = proxy(Device.class, (proxy, method, arguments) ->
                method.getName().equals("ops") ? ops : invoke(method, dry, arguments));
            Replica replica = new Replica(device, ONE_BLOCK, 1, memory, communicators, GradientSync.Options.DEFAULT);
            Tensor image = images.f32(1, 2, ONE_BLOCK.height(), ONE_BLOCK.width());
            replica.step().run(image, image, new TrainStep.Context(0, 0, IndexSpan.whole(1), 0));
        }
    }

    /** Operations of a family; each is recorded with the collectives that are under way. */
    private <T> T recorded(Class<T> family, T ops) {
        return proxy(family, (proxy, method, arguments) -> {
            collectives.stream().filter(one -> !one.awaited()[0])
                .forEach(one -> one.operations().add(method.getName()));
            return invoke(method, ops, arguments);
        });
    }

    private Communicator communicator(ProcessGroup group) {
        Communicator inner = new DryRunCommunicator(group);
        return proxy(Communicator.class, (proxy, method, arguments) -> {
            Object result = invoke(method, inner, arguments);
            return result instanceof Work && isOfABlock(group, (Tensor) arguments[0])
                ? issued(group.name() + " " + method.getName()) : result;
        });
    }

    /** Not one of gradients or losses. */
    private static boolean isOfABlock(ProcessGroup group, Tensor tensor) {
        return List.of("tp", "cp").contains(group.name()) && tensor.shape().rank() > 1;
    }

    private Work issued(String collective) {
        Meanwhile meanwhile = new Meanwhile(collective, new ArrayList<>(), new boolean[1]);
        collectives.add(meanwhile);
        return new Work() {
            @Override
            public void await() {
                meanwhile.awaited()[0] = true;
            }

            @Override
            public boolean done() {
                return meanwhile.awaited()[0];
            }
        };
    }

    private static Object invoke(Method method, Object target, Object... arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(CollectiveOverlapTest.class.getClassLoader(), new Class<?>[] {type},
            handler));
    }
}
