package org.isobar.data.synthetic;

/**
 * A travelling wave: {@code structure(lat) * Re(c(t) exp(i m lon))} with
 * {@code c(t) = amplitude (exp(i(phase - speed t)) + BEAT exp(i(beatPhase - (speed + beat) t)))}. The second term makes
 * the wave grow and decay over weeks.
 *
 * @param number    zonal wave number, m
 * @param structure amplitude at each row of the grid
 * @param slope     derivative of {@code structure} by latitude, per radian
 * @param amplitude scale
 * @param phase     phase at time 0 in radians
 * @param speed     angular frequency in radians per hour; positive travels east
 * @param beatPhase phase of the second term
 * @param beat      difference of the second term's frequency
 */
record Wave(int number, double[] structure, double[] slope, double amplitude,
            double phase, double speed, double beatPhase, double beat) {
    private static final double BEAT = 0.5;

    /** Real part of c(t). */
    double re(double hours) {
        return amplitude * (Math.cos(phase - speed * hours) + BEAT * Math.cos(beatPhase - (speed + beat) * hours));
    }

    /** Imaginary part of c(t). */
    double im(double hours) {
        return amplitude * (Math.sin(phase - speed * hours) + BEAT * Math.sin(beatPhase - (speed + beat) * hours));
    }

    /** Mean square of c(t) over time. */
    double power() {
        return amplitude * amplitude * (1 + BEAT * BEAT);
    }

    /** A copy with {@code factor} times the amplitude. */
    Wave scaled(double factor) {
        return new Wave(number, structure, slope, amplitude * factor, phase, speed, beatPhase, beat);
    }
}
