package org.isobar.evaluation;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.data.Era5Frames;
import org.isobar.data.channels.ChosenChannels;
import org.isobar.device.DeviceArena;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Reduction;
import org.isobar.fault.UserException;
import org.isobar.forecast.ForecastModel;
import org.isobar.forecast.ForecastSession;
import org.isobar.forecast.InitialFields;
import org.isobar.forecast.LeadConsumer;
import org.isobar.forecast.RollOut;
import org.isobar.forecast.StartTime;
import org.isobar.os.FileFingerprint;
import org.isobar.pretrained.ModelConfig;
import org.isobar.scores.ForecastKind;
import org.isobar.telemetry.CountProgress;
import org.isobar.telemetry.RunLog;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.train.RankProcess;
import org.isobar.train.RunContext;

/**
 * The evaluation of a model by one rank of a job. Data-parallel ranks share the initial times; rank 0 saves the scores
 * of each part of them, and writes the results.
 */
public final class ModelEvaluation {
    private static final int CHUNK = 1 << 16; // numbers that are summed over ranks at a time
    private static final int LARGEST_ARRAY = Integer.MAX_VALUE - 16;
    private static final double GIB = 1L << 30;

    private final List<ForecastModel> models;
    private final ForecastModel model;
    private final EvaluationPlan plan;
    private final RunContext context;
    private final RunLog log;
    private final boolean first;
    private final SavedParts saved;
    private boolean continued;

    private ModelEvaluation(List<ForecastModel> models, EvaluationPlan plan, RunContext context, RunLog log) {
        this.models = models;
        model = models.getFirst();
        this.plan = plan;
        this.context = context;
        this.log = log;
        first = model.run().ranks().rank() == 0;
        saved = new SavedParts(plan.out(), EvaluationReport.OUT);
    }

    /** Evaluates a model and returns the exit code: 0, 2 for invalid input, or 1 for any other failure. */
    public static int run(ForecastModel model, EvaluationPlan plan, RunContext context) {
        return run(model, Optional.empty(), plan, context);
    }

    /**
     * Evaluates a model, and compares it with a second one of the same variables, grid and lead.
     *
     * @return the exit code: 0, 2 for invalid input, or 1 for any other failure
     */
    public static int run(ForecastModel model, Optional<ForecastModel> second, EvaluationPlan plan,
            RunContext context) {
        return RankProcess.run(model.run().ranks(), context.screen(), log -> {
            List<ForecastModel> models = Stream.concat(Stream.of(model), second.stream()).toList();
            new ModelEvaluation(models, plan, context, log).evaluate();
            return 0;
        });
    }

    private void evaluate() {
        models.forEach(each -> RollOut.requireSteps(each, plan.leadSteps()));
        requireNames();
        models.forEach(this::requireSameFields);
        if (model.output().width() < 2) {
            throw new UserException("the fields of " + model.weights() + " have one column, and spectra need two");
        }
        double[] latitudes = model.config().grid().latitudes().stream().mapToDouble(Double::doubleValue).toArray();
        List<Era5Frames> inputs = new ArrayList<>();
        try (Era5Frames outputs = model.outputs(plan.years()); ClimatologyFields climatology = climatology(outputs)) {
            models.forEach(each -> inputs.add(each.inputs(plan.years())));
            int framesPerStep = model.framesPerStep(outputs);
            List<StartTime> starts = plan.starts(inputs.getFirst(), framesPerStep);
            log.info("Evaluating forecasts of " + plan.leadSteps() + " steps from " + starts.size() + " initial times, "
                + starts.getFirst() + " to " + starts.getLast());
            ForecastSession.runAll(models, context, log::info, sessions -> {
                long forecasts = forecasts(sessions, starts);
                try (FieldScorer scorer = new FieldScorer(sessions.getFirst().device(), outputs, framesPerStep,
                        climatology, latitudes);
                        CountProgress progress = new CountProgress(context.screen(), "step", forecasts)) {
                    evaluate(sessions, inputs, starts, scorer, progress, climatology.description());
                }
                return null;
            });
        } finally {
            inputs.forEach(Era5Frames::close);
        }
    }

    /** The climatology of the frames' channels. */
    private ClimatologyFields climatology(Era5Frames outputs) {
        return model.run().data().channels().isNamed()
            ? ClimatologyFields.open(plan.climatology(), model.output(), model.config().forecastNames(),
                () -> timeMeansChannels(outputs))
            : ClimatologyFields.open(plan.climatology(), model.output());
    }

    /** Where means over time have the model's channels: as the first training file, or as the frames without one. */
    private ChosenChannels timeMeansChannels(Era5Frames outputs) {
        String[] files = plan.training().toFile().list((_, name) -> name.endsWith(".h5"));
        if (files == null || files.length == 0) {
            return outputs.channels();
        }
        try (Era5Frames training = model.outputs(plan.training())) {
            return training.channels();
        }
    }

    private void requireNames() {
        List<String> names = model.config().forecastNames();
        plan.plotted().stream().filter(name -> !names.contains(name)).findFirst().ifPresent(name -> {
            throw new UserException("--plot " + name + ": the model forecasts " + String.join(", ", names));
        });
    }

    private void requireSameFields(ForecastModel other) {
        ModelConfig one = model.config();
        ModelConfig two = other.config();
        String difference = !one.forecastNames().equals(two.forecastNames()) ? "variables"
            : !one.grid().equals(two.grid()) ? "grid" : one.leadStepHours() != two.leadStepHours() ? "lead step" : "";
        if (!difference.isEmpty()) {
            throw new UserException("--model: " + model.weights() + " and " + other.weights() + " differ in their "
                + difference + "; compare models that forecast the same");
        }
    }

    /** Between the barriers, the directory is prepared, then the parts are computed, then the results are written. */
    private void evaluate(List<ForecastSession> sessions, List<Era5Frames> inputs, List<StartTime> starts,
            FieldScorer scorer, CountProgress progress, String climatology) {
        ForecastSession session = sessions.getFirst();
        int batch = model.run().training().localBatchSize() * session.communicators().grid().size(Axis.DP);
        List<List<StartTime>> parts = plan.parts(starts, batch);
        requireRoom(parts, starts.size());
        if (first) {
            saved.begin(identity(inputs.getFirst(), starts));
        }
        PartialScores all = PartialScores.zero(extents(), first ? starts.size() : 1);
        int done = 0;
        int part = 0;
        for (List<StartTime> share : parts) {
            PartialScores scores = PartialScores.zero(extents(), share.size());
            if (session.consensus().anyTrue(first && saved.has(part, scores))) {
                progress.skip(forecasts(sessions, share));
                if (first) {
                    saved.read(part, scores);
                }
            } else {
                logContinued(done, part, starts);
                score(sessions, inputs, share, scorer, progress, scores);
                if (first) {
                    saved.write(part, scores);
                }
            }
            if (first) {
                all.insert(scores, done);
            }
            done += share.size();
            part++;
        }
        if (first) {
            new EvaluationReport(model, second(), plan, starts).write(all, climatology).forEach(log::info);
            saved.delete();
        }
        session.consensus().barrier(); // no rank ends before the results are written
    }

    /** A part is saved from one array, and each forecast's scores are one array. */
    private void requireRoom(List<List<StartTime>> parts, int initialTimes) {
        requireRoom(parts.stream().mapToInt(List::size).max().orElseThrow(), LARGEST_ARRAY, "fewer --lead_steps");
        requireRoom(initialTimes, Math.min(Runtime.getRuntime().maxMemory() / 2, (long) Double.BYTES * LARGEST_ARRAY),
            "a larger --every or fewer --lead_steps");
    }

    private void requireRoom(int initialTimes, long room, String remedy) {
        long bytes = PartialScores.bytes(extents(), initialTimes);
        if (bytes > room) {
            throw new UserException(String.format(Locale.ROOT, "the scores of %d initial times, %d lead steps and %d "
                + "variables need %.1f GB, and there is room for %.1f GB: give %s", initialTimes, plan.leadSteps(),
                model.output().channels(), bytes / GIB, room / GIB, remedy));
        }
    }

    private void logContinued(int done, int part, List<StartTime> starts) {
        if (!continued && part > 0) {
            log.info("Continuing: the forecasts from %d of %d initial times are scored already".formatted(done,
                starts.size()));
        }
        continued = true;
    }

    private PartialScores.Extents extents() {
        List<ForecastKind> kinds = new ArrayList<>(
            List.of(ForecastKind.MODEL, ForecastKind.PERSISTENCE, ForecastKind.CLIMATOLOGY));
        if (models.size() > 1) {
            kinds.add(ForecastKind.SECOND_MODEL);
        }
        return new PartialScores.Extents(kinds, plan.leadSteps(), model.output().channels(), model.output().width());
    }

    private String second() {
        return models.size() > 1 ? models.getLast().weights().toString() : "";
    }

    /** Number of forecasts of one step that this rank's replica makes from some initial times. */
    private long forecasts(List<ForecastSession> sessions, List<StartTime> starts) {
        return (long) sessions.getFirst().rollOut().share(starts).size() * plan.leadSteps() * models.size();
    }

    /** Rolls all models out from some initial times, and sums the scores over the data-parallel ranks. */
    private void score(List<ForecastSession> sessions, List<Era5Frames> inputs, List<StartTime> share,
            FieldScorer scorer, CountProgress progress, PartialScores scores) {
        for (int i = 0; i < sessions.size(); i++) {
            InitialFields initial = InitialFields.of(inputs.get(i), models.get(i));
            LeadConsumer consumer = i == 0 ? scorer.model(share, scores) : scorer.secondModel(share, scores);
            sessions.get(i).rollOut().run(share, plan.leadSteps(), initial,
                first ? consumer.counted(progress) : consumer);
        }
        scores.numbers().forEach(numbers -> sum(numbers, sessions.getFirst()));
    }

    /** Replaces numbers by their sums over the data-parallel ranks. */
    private static void sum(double[] numbers, ForecastSession session) {
        if (session.communicators().grid().size(Axis.DP) == 1) {
            return;
        }
        Communicator replicas = session.communicators().along(Axis.DP);
        try (DeviceArena arena = session.device().arena("sums of scores", (long) CHUNK * Double.BYTES)) {
            Tensor all = arena.allocate(DType.F64, CHUNK);
            for (int from = 0; from < numbers.length; from += CHUNK) {
                int count = Math.min(CHUNK, numbers.length - from);
                double[] chunk = Arrays.copyOfRange(numbers, from, from + count);
                Tensor part = all.slice(0, count);
                session.device().upload(part, MemorySegment.ofArray(chunk));
                replicas.allReduce(part, Reduction.SUM).await();
                session.device().download(MemorySegment.ofArray(chunk), part);
                System.arraycopy(chunk, 0, numbers, from, count);
            }
        }
    }

    /** Text that differs if anything does that the scores depend on, or how they are rounded or cut. */
    private String identity(Era5Frames data, List<StartTime> starts) {
        return models.stream().map(ForecastModel::identity).collect(Collectors.joining("\n", "", "\n"))
            + String.join("\n", "data " + data.fingerprint(),
                "training " + plan.training().toAbsolutePath().normalize(),
                "climatology " + FileFingerprint.of(plan.climatology()), "starts " + starts,
                "steps " + plan.leadSteps(), "part " + plan.partFields(), "grid " + model.run().grid(),
                "batch " + model.run().training().localBatchSize(), "precision " + model.run().training().ampMode(),
                "device " + model.run().device(), "");
    }
}
