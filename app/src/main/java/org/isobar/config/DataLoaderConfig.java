package org.isobar.config;

/** The tutorial's two data loaders. Both names mean the one loader of Isobar. */
public enum DataLoaderConfig { PYTORCH, DALI }
