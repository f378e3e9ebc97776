package org.isobar.evaluation;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

import org.isobar.data.Era5Frames;
import org.isobar.fault.UserException;
import org.isobar.forecast.StartTime;

/**
 * What is evaluated.
 *
 * @param years       directory of the years whose frames forecasts start from and are compared with
 * @param training    directory of the training years, whose first file has the channels of means over time
 * @param climatology a file of {@code isobar data climatology}, or a NumPy array of means over time
 * @param leadSteps   steps of each forecast, 1 or more
 * @param every       every that many frames a forecast starts, 1 or more
 * @param seed        of the bootstrap
 * @param plotted     names of the variables in pictures; all if it is empty
 * @param partFields  number of forecast fields of all variables after which scores are saved, about
 * @param out         directory of the results
 */
public record EvaluationPlan(Path years, Path training, Path climatology, int leadSteps, int every, long seed,
        List<String> plotted, int partFields, Path out) {
    /** The usual {@link #partFields}: seconds for a small model, minutes for a large one on a CPU. */
    public static final int PART_FIELDS = 256;

    /**
     * The initial times: in each year the frames 0, {@code every}, 2 {@code every} and so on, as far as the whole
     * roll-out lies in the year. They are the same for every lead.
     *
     * @param framesPerStep frames of the data from one step of the model to the next
     * @throws UserException if there are none
     */
    List<StartTime> starts(Era5Frames frames, int framesPerStep) {
        long length = (long) leadSteps * framesPerStep;
        List<StartTime> starts = frames.years().stream().flatMap(year ->
            IntStream.range(0, frames.count(year)).filter(frame -> frame % every == 0)
                .filter(frame -> frame + length < frames.count(year))
                .mapToObj(frame -> new StartTime(year, frame, frames.hoursPerFrame()))).toList();
        if (starts.isEmpty()) {
            throw new UserException("--lead_steps " + leadSteps + ": no year of " + years + " has a frame " + length
                + " frames after its first; give fewer steps, or longer years");
        }
        return starts;
    }

    /**
     * Cuts the initial times into parts, whose scores are saved together. All but the last have full batches.
     *
     * @param batch starts that all replicas of the model compute at a time
     */
    List<List<StartTime>> parts(List<StartTime> starts, int batch) {
        long batches = Math.max(1, partFields / ((long) leadSteps * batch));
        int length = (int) Math.min(starts.size(), batches * batch);
        List<List<StartTime>> parts = new ArrayList<>();
        for (int first = 0; first < starts.size(); first += length) {
            parts.add(starts.subList(first, Math.min(first + length, starts.size())));
        }
        return parts;
    }
}
