package org.isobar.data.convert;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.LongStream;

import org.isobar.fault.UserException;

/**
 * The time steps of each year that is converted. A year begins on 1 January, 0 UTC, and has all its time steps, up to
 * its end or up to where the data end.
 *
 * @param hours hours from one time step to the next
 * @param years the years, in order
 */
record TimePlan(int hours, List<Year> years) {
    private static final int SECONDS_PER_HOUR = 3600;
    private static final int DAY = 24;

    /**
     * A year.
     *
     * @param frames number of its time steps
     */
    record Year(int year, int frames, int hours) {
        /** The time of a time step, in seconds since 1970. */
        long time(int frame) {
            return CfTime.start(year) + (long) frame * hours * SECONDS_PER_HOUR;
        }

        /** The times of all time steps. */
        long[] times() {
            return LongStream.range(0, frames).map(frame -> time((int) frame)).toArray();
        }
    }

    /**
     * Plans the conversion of years.
     *
     * @param asked         the years that are asked for; all that there are if it is empty
     * @param hoursPerFrame hours from one time step to the next; 0 for those of the data
     * @param partial       whether every year may end early, and not only the last one
     * @throws UserException if a time step is missing, or the steps are not regular
     */
    static TimePlan of(List<ChannelSource> channels, SortedSet<Integer> asked, int hoursPerFrame, boolean partial) {
        ChannelSource clock = channels.stream().filter(channel -> !channel.isConstant()).findFirst()
            .orElseThrow(() -> new UserException(channels.getFirst().segments().getFirst().array().subject()
                + " and all other variables have no times. Name a variable that has with --variables."));
        int hours = hoursPerFrame == 0 ? commonStep(clock) : hoursPerFrame;
        if (hours < 1 || DAY % hours != 0) {
            throw new UserException(subject(clock) + " would have time steps of " + hours + " hours, which do not "
                + "divide a day. Set --hours_per_frame to 1, 2, 3, 4, 6, 8, 12 or 24.");
        }
        SortedSet<Integer> years = asked;
        if (years.isEmpty()) {
            years = new TreeSet<>();
            for (long time : clock.times()) {
                years.add(CfTime.year(time));
            }
        }
        List<Year> plan = new ArrayList<>();
        for (int year : years) {
            plan.add(year(channels, clock, year, hours, partial || year == years.getLast()));
            if (hoursPerFrame == 0) {
                checkNothingBetween(clock, plan.getLast());
            }
        }
        return new TimePlan(hours, plan);
    }

    private static String subject(ChannelSource channel) {
        return channel.segments().getFirst().array().subject()
            + (channel.segments().size() > 1 ? " and " + (channel.segments().size() - 1) + " more" : "");
    }

    /** The difference of two successive times that is most frequent. */
    private static int commonStep(ChannelSource clock) {
        long[] times = clock.times();
        Map<Long, Integer> counts = new TreeMap<>();
        for (int i = 1; i < times.length; i++) {
            counts.merge(times[i] - times[i - 1], 1, Integer::sum);
        }
        long step = counts.entrySet().stream().max(Map.Entry.comparingByValue()).map(Map.Entry::getKey)
            .orElseThrow(() -> new UserException(subject(clock) + " has a single time. Give the hours between time "
                + "steps with --hours_per_frame."));
        if (step % SECONDS_PER_HOUR != 0) {
            throw new UserException(subject(clock) + " has steps of " + step + " seconds, as from "
                + CfTime.text(times[0]) + " to " + CfTime.text(times[1]) + ", which are no whole hours. Select whole "
                + "hours with --hours_per_frame.");
        }
        return (int) Math.min(step / SECONDS_PER_HOUR, Integer.MAX_VALUE);
    }

    private static Year year(List<ChannelSource> channels, ChannelSource clock, int year, int hours, boolean mayEnd) {
        long start = CfTime.start(year);
        long end = CfTime.start(year + 1);
        long last = Arrays.stream(clock.times()).filter(time -> time >= start && time < end).max()
            .orElseThrow(() -> new UserException(subject(clock) + " has no time in the year " + year + ": its times "
                + "run from " + CfTime.text(clock.times()[0]) + " to " + CfTime.text(clock.times()[
                clock.times().length - 1]) + ". Leave out the year from --years and --valid."));
        int whole = (int) ((end - start) / SECONDS_PER_HOUR / hours);
        Year found = new Year(year, (int) ((last - start) / SECONDS_PER_HOUR / hours) + 1, hours);
        for (ChannelSource channel : channels) {
            long[] missing = Arrays.stream(found.times()).filter(time -> !channel.has(time)).toArray();
            if (missing.length > 0) {
                throw new UserException(subject(channel) + " has no time step at " + CfTime.text(missing[0]) + " for '"
                    + channel.name() + "'; " + missing.length + " of " + found.frames() + " are missing in " + year
                    + ". Complete the files, or leave out the year from --years.");
            }
        }
        if (found.frames() < whole && !mayEnd) {
            throw new UserException(subject(clock) + " ends at " + CfTime.text(last) + " in " + year + ", and later "
                + "years follow. Complete the files, leave out the year from --years, or accept it with --partial.");
        }
        return found;
    }

    private static void checkNothingBetween(ChannelSource clock, Year year) {
        long end = year.time(year.frames());
        for (long time : clock.times()) {
            if (time >= year.time(0) && time < end && (time - year.time(0)) % (year.hours() * SECONDS_PER_HOUR) != 0) {
                throw new UserException(subject(clock) + " has the time " + CfTime.text(time) + " between time steps "
                    + "of " + year.hours() + " hours. Select those with --hours_per_frame=" + year.hours() + ".");
            }
        }
    }
}
