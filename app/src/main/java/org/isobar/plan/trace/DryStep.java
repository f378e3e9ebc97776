package org.isobar.plan.trace;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

import org.isobar.backend.dryrun.DryRunCommunicator;
import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.device.ops.AttentionShape;
import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.RecordingCommunicator;
import org.isobar.model.ModelSpec;
import org.isobar.plan.trace.StepEvent.Phase;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.step.StepOptions;

/**
 * A training step of one rank on a device that computes nothing: what it issues, and the memory that it takes. It runs
 * the code that trains.
 *
 * @param trace  what the rank issues
 * @param memory the memory of the step, to the byte
 */
public record DryStep(StepTrace trace, MemoryPlan memory) {
    private static final Set<String> PRODUCTS = Set.of("linear", "linearBackwardInput", StepEvent.WEIGHT_GRADIENT,
        StepEvent.PARAMETER_GRADIENTS);
    private static final Set<String> UPDATE = Set.of("unscale", "advance", "adam");
    private static final String FIRST_BACKWARD = "relativeL2LossBackward";

    /**
     * Runs a step of {@code batch} local samples of {@code rank}.
     *
     * @param options type of products, optimizer, reduction of gradients
     */
    public static DryStep of(ModelSpec model, int batch, StepOptions options, ProcessGrid grid, int rank) {
        Recorder recorder = new Recorder();
        DryRunDevice device = new DryRunDevice();
        device.observe(recorder);
        Communicators communicators = new Communicators(grid, rank, device.ops().memory()::copy,
            group -> new RecordingCommunicator(new DryRunCommunicator(group), recorder));
        MemoryPlan memory = MemoryPlan.of(model, batch, options, communicators, device, recorder);
        return new DryStep(new StepTrace(recorder.events), memory);
    }

    /** Records operations and collectives of the step. */
    private static final class Recorder implements DryRunDevice.Observer, RecordingCommunicator.Recorder,
        MemoryPlan.StepObserver {
        private final List<StepEvent> events = new ArrayList<>();
        private final Map<List<Object>, Integer> pending = new HashMap<>(); // by group and number of the call
        private Phase phase = Phase.FORWARD;
        private int collectives;
        private boolean recording;

        @Override
        public void stepBegins() {
            recording = true;
        }

        @Override
        public void stepEnds() {
            recording = false;
        }

        @Override
        public void issued(String name, List<Object> arguments, double flops, double bytes) {
            if (!recording) {
                return;
            }
            if (name.equals(FIRST_BACKWARD)) {
                phase = Phase.BACKWARD;
            } else if (UPDATE.contains(name)) {
                phase = Phase.UPDATE;
            }
            List<Tensor> tensors = arguments.stream().filter(Tensor.class::isInstance).map(Tensor.class::cast).toList();
            StepEvent.Work work = PRODUCTS.contains(name) ? StepEvent.Work.PRODUCT
                : name.startsWith("attention") ? StepEvent.Work.ATTENTION : StepEvent.Work.MEMORY;
            new StepEvent.Operation(name, work, type(work, tensors), extents(name, arguments, tensors), flops, bytes,
                phase).addTo(events);
        }

        /** The type of a product's or of attention's operands, else of the narrowest large tensor. */
        private static DType type(StepEvent.Work work, List<Tensor> tensors) {
            if (work != StepEvent.Work.MEMORY) {
                return (work == StepEvent.Work.PRODUCT ? tensors.getLast() : tensors.get(2)).dtype();
            }
            long largest = tensors.stream().mapToLong(Tensor::elements).max().orElse(0);
            return tensors.stream().filter(tensor -> tensor.elements() == largest).map(Tensor::dtype)
                .min((a, b) -> a.bytes() - b.bytes()).orElse(DType.F32);
        }

        private static List<Long> extents(String name, List<Object> arguments, List<Tensor> tensors) {
            return switch (name) {
                case "linear" -> product(tensors.get(1), tensors.get(2).shape().extent(0));
                case "linearBackwardInput" -> product(tensors.get(1), tensors.get(2).shape().extent(1));
                case StepEvent.WEIGHT_GRADIENT -> weightGradient(tensors.get(1), tensors.get(2));
                case StepEvent.PARAMETER_GRADIENTS -> weightGradient(tensors.get(2), tensors.get(3));
                case "attention", "attentionBackward" -> arguments.stream().filter(AttentionShape.class::isInstance)
                    .map(AttentionShape.class::cast).map(shape -> List.of(shape.batch(), shape.queries(),
                        shape.keys(), shape.heads(), shape.headDim())).findFirst().orElseThrow();
                default -> List.of(tensors.getFirst().shape().rows(), tensors.getFirst().shape().extent(-1));
            };
        }

        private static List<Long> product(Tensor rows, long columns) {
            return List.of(rows.shape().rows(), columns, rows.shape().extent(-1));
        }

        private static List<Long> weightGradient(Tensor dy, Tensor x) {
            return List.of(dy.shape().extent(-1), x.shape().extent(-1), dy.shape().rows());
        }

        @Override
        public void opened(ProcessGroup group) { }

        @Override
        public void issued(ProcessGroup group, CollectiveCall call, Tensor tensor) {
            if (recording) {
                pending.put(List.of(group.name(), call.number()), collectives);
                events.add(new StepEvent.Issue(collectives++, group.name(), call.kind(),
                    call.elements() * call.dtype().bytes(), call.kind() == CollectiveCall.Kind.ALL_REDUCE
                    || call.even(), phase));
            }
        }

        @Override
        public void awaited(ProcessGroup group, CollectiveCall call) {
            Integer number = pending.remove(List.of(group.name(), call.number()));
            if (recording && number != null) {
                events.add(new StepEvent.Await(number));
            }
        }
    }

    /** The names of the groups in which the rank communicates. */
    public Stream<String> groups() {
        return trace.collectives().map(StepEvent.Issue::group).distinct();
    }
}
