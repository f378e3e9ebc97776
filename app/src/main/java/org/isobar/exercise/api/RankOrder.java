package org.isobar.exercise.api;

import java.util.Map;

/** Where the ranks of a job are in its grid of axes. */
public interface RankOrder {
    /**
     * The coordinate of a rank along each axis, from 0.
     *
     * @param rank  from 0
     * @param order the axes, joined by '-', the one along which neighbouring ranks differ first: {@code tp-cp-dp}
     * @param sizes number of ranks along each axis of the order
     */
    Map<String, Integer> coordinates(int rank, String order, Map<String, Integer> sizes);
}
