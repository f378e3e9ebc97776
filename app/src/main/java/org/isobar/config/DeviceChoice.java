package org.isobar.config;

/** Where to compute; {@code AUTO} takes the best that this machine has. */
public enum DeviceChoice { AUTO, CPU, CUDA }
